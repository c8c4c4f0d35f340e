"""The transcripts that clients keep of a session, as turns: what a person and an agent said, in order.

Tool calls, their results and thinking are left out, and so is what a client or a hook put into the conversation: also
what pgmem itself brought, which would otherwise come back as if it had been said. The origin that a client notes
decides first, the form of a line or part second, and lists of names last (`words`). A form that no reader knows, and
that holds text, is counted and named (`foreign.Account`).

    words.py     what a text holds that nobody said
    forms.py     the lines of each client, release by release
    reading.py   a transcript from its first line on, or from where the last event ended
"""

from pgmem.transcripts.reading import Reader, turns
from pgmem.transcripts.words import INJECTED, prompted, said

__all__ = ["INJECTED", "Reader", "prompted", "said", "turns"]

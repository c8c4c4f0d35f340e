"""The transcripts that clients keep of a session, as turns: the words of a person and an agent, in order.

Tool calls, their results and thinking are left out, and so are texts that a client or a hook put into the conversation:
also those of pgmem itself, which would otherwise come back as if they had been said. The origin that a client notes
decides first, the form of a line or part second, and lists of names last (`words`). A form that no reader knows, and
that holds text, is counted and named (`foreign.Account`).

    words.py     parts of a text that nobody said
    forms.py     the lines of each client, release by release
    reading.py   a transcript from its first line on, or from where the last event ended
"""

from pgmem.transcripts.reading import Reader, turns
from pgmem.transcripts.words import INJECTED, prompted, said

__all__ = ["INJECTED", "Reader", "prompted", "said", "turns"]

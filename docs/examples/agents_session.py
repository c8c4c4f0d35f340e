from agents import Agent, Runner, set_tracing_disabled
from agents.testing import ScriptedModel, assistant_message

from pgmem.integrations.openai_agents import PgmemSession
from pgmem.sync import Memory

set_tracing_disabled(True)
model = ScriptedModel()  # in the place of a model that costs
agent = Agent(name="Waiter", model=model)

with Memory.connect() as memory:
    session = PgmemSession("table 7", memory)
    for said, answer in (("I like green tea", "Noted."), ("The usual, please", "Green tea it is.")):
        model.enqueue([assistant_message(answer)])
        print(Runner.run_sync(agent, said, session=session).final_output)
    print(len(model.calls[-1].input), "items went to the model")

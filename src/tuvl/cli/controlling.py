"""Tells people that somebody, or a supervisor, stepped in, and how a run that is paused goes on."""

from tuvl.cli.observing import Speaker
from tuvl.cli.wording import seconds
from tuvl.dataclass import dataclass
from tuvl.events.types import Event, Intervened
from tuvl.values import printable


@dataclass(frozen=True, slots=True)
class ToldInterventions:
    """A sink that tells people that their run was paused, and how it goes on."""

    view: Speaker
    pause_max_s: float

    def accept(self, event: Event) -> None:
        """Tell of one event; of most there is nothing to say."""
        if isinstance(event.body, Intervened):
            for line in _lines(event.run_id, event.body, self.pause_max_s):
                self.view.say(printable(line), mark="bad" if event.body.action in ("pause", "abort") else "now")


def _lines(run_id: str, said: Intervened, pause_max_s: float) -> list[str]:
    by = {"rule": f"the supervisor's {said.by}", "judge": f"the supervisor's judge {said.by}"}.get(said.source, said.by)
    why = f": {said.reason}" if said.reason else ""
    match said.action:
        case "pause":
            return [
                f"paused by {by}{why}",
                f"go on with `tuvl runs resume {run_id}`, stop with Ctrl-C; after {seconds(pause_max_s)} it is aborted",
            ]
        case "resume":
            return [f"resumed by {by}"]
        case "steer":
            return [f"steered by {by}{why}"]
        case "abort":
            return [f"aborted by {by}{why}"]

"""Task graph: the steps of a run as task runs with edges between them."""

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeVar, cast
from uuid import UUID, uuid4

from prefect.client.schemas.objects import (
    Constant,
    FlowRunResult,
    Parameter,
    State,
    StateDetails,
    TaskRun,
    TaskRunResult,
)
from prefect.futures import PrefectFuture
from prefect.states import Completed
from prefect.utilities.engine import emit_task_run_state_change_event, link_state_to_task_run_result

from docmill.flows.runs.engine import Node
from docmill.tasks.steps import as_task

T = TypeVar("T")
Inputs = dict[str, list[TaskRunResult | FlowRunResult | Parameter | Constant]]


class Mark:
    """A placeholder for a recorded step that later tasks wait for; Prefect maps this object to the task run."""


@dataclass(slots=True)
class TaskGraph:
    """The steps of a flow run so far by key. `ends` are the steps that no other step follows."""

    flow_run_id: UUID
    marks: dict[str, Mark | PrefectFuture[Any]] = field(default_factory=dict)
    ids: dict[str, UUID] = field(default_factory=dict)
    ends: dict[str, None] = field(default_factory=dict)

    def submit(self, node: Node, step: Callable[..., T], *args: Any) -> Future[T]:
        """Start a step as a task run after the steps that its node depends on."""
        upstream = [self.marks[key] for key in self._before(node)]
        task = as_task(step).with_options(task_run_name=node.name)
        future = task.submit(*args, wait_for=upstream)
        self._add(node, future.task_run_id, future)
        return cast("Future[T]", future)

    def record(self, node: Node, began: float, seconds: float, message: str) -> None:
        """Add a finished task run as Prefect's engine does: by an event with its final state."""
        inputs: Inputs = {"wait_for": [TaskRunResult(id=self.ids[key]) for key in self._before(node)]}
        if node.inside:
            inputs["__parents__"] = [TaskRunResult(id=self.ids[node.inside])]
        run, mark = _ended(self.flow_run_id, node, began, seconds, message, inputs), Mark()
        assert run.state is not None
        emit_task_run_state_change_event(run, None, run.state)
        link_state_to_task_run_result(run.state, mark)
        self._add(node, run.id, mark)

    def _before(self, node: Node) -> list[str]:
        return list(self.ends if node.after is None else node.after)

    def _add(self, node: Node, task_run_id: UUID, mark: Mark | PrefectFuture[Any]) -> None:
        for key in (*self._before(node), node.inside):
            self.ends.pop(key, None)
        self.marks[node.key], self.ids[node.key] = mark, task_run_id
        self.ends[node.key] = None


def _ended(flow_run_id: UUID, node: Node, began: float, seconds: float, message: str, inputs: Inputs) -> TaskRun:
    start, end = (datetime.fromtimestamp(at, UTC) for at in (began, began + seconds))  # the next phase begins at `end`
    details = StateDetails(task_run_id=uuid4(), flow_run_id=flow_run_id)
    state: State[Any] = Completed(message=message, timestamp=end, state_details=details)
    run = {
        "id": details.task_run_id,
        "name": node.name,
        "flow_run_id": flow_run_id,
        "task_key": node.key.partition(" ")[0],
        "dynamic_key": node.key,
        "task_inputs": inputs,
        "run_count": 1,
        "expected_start_time": start,
        "start_time": start,
        "end_time": end,
        "total_run_time": end - start,
        "state_type": state.type,
        "state_name": state.name,
        "state": state,
    }
    return TaskRun.model_validate(run)

"""A Gymnasium environment over the engine: an agent decides which ready task starts where."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _native
from ._optional import need
from .errors import BadInput

if TYPE_CHECKING:
    import gymnasium
    import numpy as np
    from numpy.typing import NDArray

    from ._values import Platform, Scenario, Workflow

    Base = gymnasium.Env[dict[str, NDArray[Any]], NDArray[np.int64]]
else:
    gymnasium = need("gymnasium", "slackline.gym")
    np = need("numpy", "slackline.gym")
    Base = gymnasium.Env

#: States of a task in an observation.
WAITING, READY, PLACED, RUNNING, DONE = range(5)


class Env(Base):
    """One run of a workflow on a platform is one episode.

    An action is a task and a host: the task starts on idle processors of the host. The task of the highest number plus one
    stands for waiting until something happens. An action that is not possible changes nothing, costs `penalty` and is
    reported as `info["invalid"]`; `action_mask()` tells the possible ones.

    An observation has `tasks` (state, upward rank and mean time of each, the latter two as shares of the greatest), `hosts`
    (idle share of the cores, and level of each) and `time` over the lower bound of the makespan. Rewards are the negative
    progress of time over that bound: an episode's sum is the makespan over the bound, negated. A run that cannot finish
    costs 10 more.

    With a scenario, episode k (from 0) after a reset draws it with its k-th seed; `reset(seed=s)` makes the next episode the
    s-th.
    """

    metadata = {"render_modes": []}

    def __init__(
        self,
        workflow: Workflow,
        platform: Platform,
        scenario: Scenario | None = None,
        *,
        penalty: float = 0.01,
        most_steps: int | None = None,
    ) -> None:
        if not isinstance(workflow, _native.Workflow) or not isinstance(platform, _native.Platform):
            raise BadInput("an environment needs a workflow and a platform")
        self.workflow = workflow
        self.platform = platform
        self.scenario = scenario
        self.penalty = penalty
        ranks, means, bound = _native.episode_facts(workflow, platform)
        self._tasks, self._hosts = len(workflow), len(platform)
        self._bound = bound if bound > 0.0 else 1.0
        self._most_steps = 20 * self._tasks + 100 if most_steps is None else most_steps
        self._cores = np.array([host.cores for host in platform.hosts], dtype=np.float32)
        self._facts = np.zeros((self._tasks, 3), dtype=np.float32)
        self._facts[:, 1] = np.array(ranks) / (max(ranks) or 1.0)
        self._facts[:, 2] = np.array(means) / (max(means) or 1.0)
        box = gymnasium.spaces.Box
        self.observation_space: Any = gymnasium.spaces.Dict(
            {
                "tasks": box(0.0, float(DONE), (self._tasks, 3), np.float32),
                "hosts": box(0.0, np.inf, (self._hosts, 2), np.float32),
                "time": box(0.0, np.inf, (1,), np.float32),
            }
        )
        self.action_space: Any = gymnasium.spaces.MultiDiscrete([self._tasks + 1, self._hosts])
        self._episode: _native.Episode | None = None
        self._number = 0
        self._time = 0.0
        self._steps = 0
        self._seen: Any = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Begins an episode."""
        super().reset(seed=seed)
        if seed is not None:
            self._number = int(seed)
        self.close()
        self._episode = _native.Episode(self.workflow, self.platform, self.scenario, self._number)
        self._number = (self._number + 1) % 2**63
        self._time, self._steps = 0.0, 0
        self._seen = self._episode.begin()
        return self._observation(), self._info()

    def step(
        self, action: NDArray[np.int64]
    ) -> tuple[dict[str, NDArray[Any]], float, bool, bool, dict[str, Any]]:
        """Starts a task, or waits."""
        if self._episode is None:
            raise gymnasium.error.ResetNeeded("reset the environment first")
        task, host = int(action[0]), int(action[1])
        if not 0 <= task <= self._tasks or not 0 <= host < self._hosts:
            raise BadInput(f"no such action: task {task}, host {host}")
        self._seen = self._episode.step(None if task == self._tasks else task, host)
        time, _, _, _, invalid, over = self._seen
        reward = (self._time - time) / self._bound
        self._time = time
        self._steps += 1
        if invalid:
            reward -= self.penalty
        if over is not None:
            self._episode = None
            if not over[0]:
                reward -= 10.0
        truncated = over is None and self._steps >= self._most_steps
        if truncated:
            self.close()
        return self._observation(), reward, over is not None, truncated, self._info()

    def action_mask(self) -> NDArray[np.bool_]:
        """Which tasks could start somewhere now; the last one is waiting."""
        states = np.frombuffer(self._seen[1], dtype=np.uint8)
        mask = np.zeros(self._tasks + 1, dtype=bool)
        mask[: self._tasks] = states == READY
        mask[self._tasks] = bool(((states == PLACED) | (states == RUNNING)).any())
        return mask

    def close(self) -> None:
        """Ends the episode."""
        if self._episode is not None:
            self._episode.close()
            self._episode = None

    def _observation(self) -> dict[str, NDArray[Any]]:
        time, states, idle, levels, _, _ = self._seen
        tasks = self._facts.copy()
        hosts = np.zeros((self._hosts, 2), dtype=np.float32)
        if states:
            tasks[:, 0] = np.frombuffer(states, dtype=np.uint8)
            hosts[:, 0] = np.frombuffer(idle, dtype="<f4")
            hosts[:, 0] /= np.maximum(self._cores, 1.0)
            hosts[:, 1] = np.frombuffer(levels, dtype="<f4")
        return {"tasks": tasks, "hosts": hosts, "time": np.array([time / self._bound], dtype=np.float32)}

    def _info(self) -> dict[str, Any]:
        time, _, _, _, invalid, over = self._seen
        info: dict[str, Any] = {"time": time, "invalid": invalid}
        if over is not None:
            info["finished"], info["why"] = over
            info["makespan"] = time
        return info

"""The environment is one that agents of others can use."""

from __future__ import annotations

import pytest

import slackline as sl

gymnasium = pytest.importorskip("gymnasium")
np = pytest.importorskip("numpy")


def test_it_is_a_gymnasium_environment(pf):
    from gymnasium.utils.env_checker import check_env

    env = sl.gym.Env(sl.generate.daggen(12, seed=1), pf)
    check_env(env, skip_render_check=True)


def test_an_episode_is_a_run(pf):
    wf = sl.generate.daggen(30, seed=2)
    env = sl.gym.Env(wf, pf, sl.generate.sce(50, seed=3))
    for seed in (0, 0, 1):
        observation, info = env.reset(seed=seed)
        total, over = 0.0, False
        while not over:
            mask = env.action_mask()
            task = int(np.flatnonzero(mask[:-1])[0]) if mask[:-1].any() else len(wf)
            idle = int(np.argmax(observation["hosts"][:, 0]))
            observation, reward, over, truncated, info = env.step(np.array([task, idle]))
            total += reward
            assert env.observation_space.contains(observation)
            assert not truncated and not info["invalid"]
        assert info["finished"]
        if seed == 0:
            assert total == pytest.approx(-info["makespan"] / env._bound)
    env.close()


def test_impossible_actions_change_nothing(wf, pf):
    env = sl.gym.Env(wf, pf)
    env.reset()
    _, reward, over, _, info = env.step(np.array([1, 0]))  # b is not ready
    assert info["invalid"] and reward == -env.penalty and not over
    _, _, _, _, info = env.step(np.array([2, 0]))  # nothing to wait for
    assert info["invalid"]
    env.close()
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(np.array([0, 0]))
    with pytest.raises(sl.BadInput):
        env.reset()
        env.step(np.array([99, 0]))


def test_the_engine_ends_with_its_agent(wf, pf):
    for _ in range(200):
        env = sl.gym.Env(wf, pf)
        env.reset()
        del env

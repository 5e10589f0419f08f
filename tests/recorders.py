"""Callbacks that watch a fit, and those that end it. A step is a task without subtasks."""

import time


class Recorder:
    """Notes the tasks of a fit, and counts its steps."""

    def __init__(self):
        self.calls = []
        self.begun = self.ended = 0

    def setup(self, estimator, context):
        self.calls.append("setup")

    def teardown(self, estimator, context):
        self.calls.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.calls.append(("begin", context.task_name, context.task_id))
        if context.max_subtasks == 0:
            self.begun += 1

    def on_fit_task_end(self, estimator, context):
        self.calls.append(("end", context.task_name, context.task_id))
        if context.max_subtasks == 0:
            self.ended += 1
            return self.on_step(self.ended)
        return False

    def on_step(self, number):
        return False


class StopAfter(Recorder):
    def __init__(self, number):
        super().__init__()
        self.number = number

    def on_step(self, number):
        return number == self.number


class InterruptAfter(StopAfter):
    """Ctrl-C in some step."""

    def on_step(self, number):
        if number == self.number:
            raise KeyboardInterrupt
        return False


class Slow(Recorder):
    def on_step(self, number):
        time.sleep(0.03)
        return False

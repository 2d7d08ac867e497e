// Asks again and again, but never for more than so many bytes a second.

import { get } from "./api.js";

const BYTES_PER_SECOND = 10_000;
const WHEN_HIDDEN_MS = 5_000;

export class Poll {
  /** `show(data, isNew)` after each answer, `fail(error)` after none. */
  constructor(path, everyMs, show, fail = () => {}) {
    Object.assign(this, { path, everyMs, show, fail, timer: null, isOn: false });
  }

  start() {
    if (this.isOn) return;
    this.isOn = true;
    this.ask();
  }

  stop() {
    this.isOn = false;
    clearTimeout(this.timer);
  }

  async ask() {
    clearTimeout(this.timer);
    let pause = this.everyMs;
    try {
      const { data, size } = await get(this.path);
      if (!this.isOn) return;
      this.show(data, size > 0);
      pause = Math.max(pause, (size / BYTES_PER_SECOND) * 1000);
    } catch (error) {
      if (!this.isOn) return;
      this.fail(error);
    }
    if (document.hidden) pause = Math.max(pause, WHEN_HIDDEN_MS);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.ask(), pause);
  }
}

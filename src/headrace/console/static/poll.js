// Asks again and again, but never for more than so many bytes a second: five of these are less than 50 KB/s.

const BYTES_PER_SECOND = 9_000;
const WHEN_HIDDEN_MS = 5_000;

export class Poll {
  /** `question()` is asked for {data, size}; `show(data)` after each answer, `fail(error)` after none. */
  constructor(question, everyMs, show, fail = () => {}) {
    Object.assign(this, { question, everyMs, show, fail, timer: null, isOn: false });
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
    let answer = null;
    let problem = null;
    try {
      answer = await this.question();
    } catch (error) {
      problem = error;
    }
    if (!this.isOn) return;
    const least = ((answer?.size ?? 0) / BYTES_PER_SECOND) * 1000;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.ask(), Math.max(this.everyMs, least, document.hidden ? WHEN_HIDDEN_MS : 0));
    if (problem === null) this.show(answer.data);
    else this.fail(problem);
  }
}

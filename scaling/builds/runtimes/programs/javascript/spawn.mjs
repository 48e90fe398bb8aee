// `spawn` in JavaScript: async functions that do nothing but count themselves, joined by Promise.all.
// (The program of factor-2025 maps over an array of holes, which calls nothing.) JavaScript begins an
// async function at once, as Python begins an eager task; a lazy one is made to wait for its turn.
export default class Spawn {
  static finite = true;
  static inFlight = "tasks";

  constructor({ tasks, factory, pause_ms }, count) {
    Object.assign(this, { tasks, factory, pause_ms, count });
  }

  setUp() {}

  // Returns what went wrong.
  async run() {
    const { tasks, factory, pause_ms } = this;
    let ran = 0;
    const eager = async () => { ran += 1; };
    const lazy = async () => { await undefined; ran += 1; };
    const pausing = async () => {
      await new Promise((resolve) => setTimeout(resolve, pause_ms));
      ran += 1;
    };
    const task = pause_ms > 0 ? pausing : factory === "eager" ? eager : lazy;
    await Promise.all(Array.from({ length: tasks }, task));
    this.count[0] = ran;
    return ran === tasks ? [] : [`${ran} of ${tasks} tasks ran to their end`];
  }
}

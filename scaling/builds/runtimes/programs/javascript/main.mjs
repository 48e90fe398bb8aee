// The child of Node and Bun: it speaks as `python -m workers` does, a cell on standard input, a record
// on standard output. A workload is a file beside this one.
//
// N workers are N threads with a loop each. They count in shared memory, and the main thread, which
// else only waits, takes the ticks of all: Bun's threads have clocks with different origins. CPU time
// is the whole process's, collector and compiler and all, dealt out evenly.
import { readFileSync, readSync, writeSync } from "node:fs";
import { Worker, isMainThread, parentPort, workerData } from "node:worker_threads";

const LEAD_NS = 20e6; // between choosing the first instant and that instant
const APART = 32; // counts of 4 bytes: each worker's is on cache lines of its own

const now = () => Number(process.hrtime.bigint());
const sleepUntil = (instant) =>
  new Promise((resolve) => setTimeout(resolve, Math.max(0, Math.ceil((instant - now()) / 1e6))));
const importWorkload = async ({ workload }) => { // workers.workloads.echo:Echo
  const [module] = workload.split(":");
  return (await import(`./${module.split(".").at(-1)}.mjs`)).default;
};

// Tell the driver of a phase, and wait for its nod; nobody where there is no descriptor.
function tell(descriptor, phase) {
  if (descriptor === null || descriptor === undefined) return;
  writeSync(descriptor, `${JSON.stringify({ phase, pids: [process.pid] })}\n`);
  const answer = Buffer.alloc(64);
  while (!answer.includes("\n")) if (readSync(descriptor, answer) === 0) return;
}

// The total in flight dealt out evenly, the first workers get the rest.
function share({ in_flight, workers, parameters }, name, index) {
  if (in_flight === null || in_flight === undefined) return parameters[name];
  return Math.floor(in_flight / workers) + (index < in_flight % workers ? 1 : 0);
}

class Thread {
  ticks = { instant_ns: [], time_ns: [], operations: [], errors: [], bytes: [], cpu_ns: [] };
  wrong = [];

  constructor(cell, name, index, counts) {
    this.inFlight = share(cell, name, index);
    this.index = index;
    this.count = new Int32Array(counts, 4 * APART * index, 1);
    const parameters = { ...cell.parameters, [name]: this.inFlight };
    const data = { ...cell, parameters, count: this.count };
    this.thread = new Worker(new URL(import.meta.url), { workerData: data });
  }

  // The next message of the thread, or its end by an error.
  heard() {
    return new Promise((resolve, reject) => {
      this.thread.once("message", resolve);
      this.thread.once("error", reject);
    });
  }

  order(word) {
    const answer = this.heard();
    this.thread.postMessage(word);
    return answer;
  }

  // It begins its work; settled when it has done all of it, or was stopped.
  async begin(from = now()) {
    this.from = from;
    this.wrong = await this.order("run");
    this.until = now();
  }

  tick(instant, time, cpu) {
    const { ticks, wrong } = this;
    ticks.instant_ns.push(instant);
    ticks.time_ns.push(time);
    ticks.operations.push(Atomics.load(this.count, 0));
    ticks.errors.push(wrong.length);
    ticks.bytes.push(0);
    ticks.cpu_ns.push(cpu);
  }

  report(finite) {
    const { index, inFlight, wrong, from, until, ticks } = this;
    const finished = { released_ns: from, started_ns: from, finished_ns: until };
    return {
      index, in_flight: inFlight, errors: wrong.length, error_samples: wrong,
      busy_from_ns: from, busy_until_ns: until, ...(finite ? finished : {}), ticks,
    };
  }
}

function cpuShare({ workers }) {
  const { user, system } = process.cpuUsage();
  return Math.round(((user + system) * 1000) / workers);
}

// All work of all threads, from one instant; counted before any begins, since it may be done at once.
async function release(cell, threads) {
  const cpu = cpuShare(cell);
  const from = now();
  threads.forEach((thread) => thread.tick(from, from, cpu));
  const finished = threads.map((thread) => thread.begin(from));
  await Promise.all(finished);
  const after = cpuShare(cell);
  threads.forEach((thread) => thread.tick(thread.until, thread.until, after));
}

// Warm-up and window of all threads; then they are stopped.
async function measure(cell, threads) {
  const ended = Promise.all(threads.map((thread) => thread.begin()));
  await Promise.race([takeTicks(cell, threads), ended]);
  threads.forEach(({ thread }) => thread.postMessage("stop"));
  await ended;
}

async function takeTicks(cell, threads) {
  await sleepUntil(now() + cell.warmup_s * 1e9);
  const opens = now() + LEAD_NS;
  for (let k = 0; k <= cell.ticks; k += 1) {
    const instant = opens + Math.round((cell.window_s * 1e9 * k) / cell.ticks);
    await sleepUntil(instant);
    const cpu = cpuShare(cell);
    threads.forEach((thread) => thread.tick(instant, now(), cpu));
  }
}

async function main() {
  const started = now();
  const cell = JSON.parse(readFileSync(0, "utf8"));
  const { finite, inFlight } = await importWorkload(cell);
  const counts = new SharedArrayBuffer(4 * APART * cell.workers);
  const threads = Array.from(
    { length: cell.workers }, (_, index) => new Thread(cell, inFlight, index, counts));
  await Promise.all(threads.map((thread) => thread.heard()));
  tell(cell.observer_fd, "imported");
  await Promise.all(threads.map((thread) => thread.order("set up")));
  await (finite ? release : measure)(cell, threads);
  tell(cell.observer_fd, "closed");
  threads.forEach(({ thread }) => thread.terminate());

  const [name, version] = process.versions.bun
    ? ["bun", process.versions.bun] : ["node", process.versions.node];
  const opened = threads[0].ticks.instant_ns[0];
  console.log(JSON.stringify({
    schema: 1, outcome: "measured", finite, process: {},
    loop: { name: cell.loop, class: name, version },
    instants_ns: {
      started, ready: opened, opened,
      closed: Math.max(...threads.map(({ ticks }) => ticks.instant_ns.at(-1))),
    },
    workers: threads.map((thread) => thread.report(finite)),
  }));
}

// What a thread does: each order is answered when it has been carried out.
async function work() {
  const Workload = await importWorkload(workerData);
  const workload = new Workload(workerData.parameters, workerData.count);
  const orders = { "set up": () => workload.setUp(), run: () => workload.run() };
  parentPort.on("message", async (order) => {
    if (order === "stop") workload.running = false;
    else parentPort.postMessage(await orders[order]());
  });
  parentPort.postMessage("imported");
}

await (isMainThread ? main() : work());

// `spawn` in JavaScript, for Node and Bun: async functions that do nothing but count themselves,
// joined by Promise.all. (The program of factor-2025 maps over an array of holes, which calls nothing.)
//
// Speaks as `python -m workers` does: a cell on standard input, a record on standard output. N
// workers are N threads with a loop each. JavaScript begins an async function at once, as Python
// begins an eager task; a lazy one is made to wait for its turn first. Times are the main thread's;
// CPU time is the whole process's, collector and compiler and all, dealt out evenly.
import { readFileSync, readSync, writeSync } from "node:fs";
import { Worker, isMainThread, parentPort, workerData } from "node:worker_threads";

const now = () => Number(process.hrtime.bigint());

async function spawn({ tasks, factory, pause_ms }) {
  let ran = 0;
  const eager = async () => { ran += 1; };
  const lazy = async () => { await undefined; ran += 1; };
  const pausing = async () => {
    await new Promise((resolve) => setTimeout(resolve, pause_ms));
    ran += 1;
  };
  const task = pause_ms > 0 ? pausing : factory === "eager" ? eager : lazy;
  await Promise.all(Array.from({ length: tasks }, task));
  return ran;
}

// Tasks of one worker: the total in flight dealt out evenly, the first ones get the rest.
function share({ in_flight, workers, parameters }, index) {
  if (in_flight === null || in_flight === undefined) return parameters.tasks;
  return Math.floor(in_flight / workers) + (index < in_flight % workers ? 1 : 0);
}

// Tell the driver of a phase, and wait for its nod; nobody where there is no descriptor.
function tell(descriptor, phase) {
  if (descriptor === null || descriptor === undefined) return;
  writeSync(descriptor, `${JSON.stringify({ phase, pids: [process.pid] })}\n`);
  const answer = Buffer.alloc(64);
  while (!answer.includes("\n")) if (readSync(descriptor, answer) === 0) return;
}

function report(index, tasks, ran, released, finished, cpu) {
  const wrong = ran === tasks ? [] : [`${ran} of ${tasks} tasks ran to their end`];
  return {
    index, in_flight: tasks, errors: wrong.length, error_samples: wrong,
    busy_from_ns: released, busy_until_ns: finished,
    released_ns: released, started_ns: released, finished_ns: finished,
    ticks: {
      instant_ns: [released, finished], time_ns: [released, finished],
      operations: [0, ran], errors: [0, wrong.length], bytes: [0, 0], cpu_ns: [0, cpu],
    },
  };
}

// One message of a worker, or its end by an error.
const heard = (worker) => new Promise((resolve, reject) => {
  worker.once("message", resolve);
  worker.once("error", reject);
});

async function main() {
  const started = now();
  const cell = JSON.parse(readFileSync(0, "utf8"));
  const shares = Array.from({ length: cell.workers }, (_, index) => share(cell, index));
  const threads = shares.map((tasks) =>
    new Worker(new URL(import.meta.url), { workerData: { ...cell.parameters, tasks } }));
  await Promise.all(threads.map(heard));
  tell(cell.observer_fd, "imported");

  const before = process.cpuUsage();
  const released = now();
  const results = await Promise.all(threads.map(async (thread) => {
    const answer = heard(thread);
    thread.postMessage("released");
    return { ran: await answer, finished: now() };
  }));
  const used = process.cpuUsage(before);
  tell(cell.observer_fd, "closed");
  threads.forEach((thread) => thread.postMessage("over"));

  const cpu = Math.round(((used.user + used.system) * 1000) / cell.workers);
  const [name, version] = process.versions.bun
    ? ["bun", process.versions.bun] : ["node", process.versions.node];
  console.log(JSON.stringify({
    schema: 1, outcome: "measured", finite: true, process: {},
    loop: { name: cell.loop, class: name, version },
    instants_ns: {
      started, ready: released, opened: released,
      closed: Math.max(...results.map(({ finished }) => finished)),
    },
    workers: results.map(({ ran, finished }, index) =>
      report(index, shares[index], ran, released, finished, cpu)),
  }));
}

if (isMainThread) {
  await main();
} else {
  parentPort.once("message", async () => {
    parentPort.postMessage(await spawn(workerData));
    parentPort.once("message", () => parentPort.close());
  });
  parentPort.postMessage("ready");
}

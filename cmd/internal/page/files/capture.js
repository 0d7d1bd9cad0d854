// A capture of this node: started with a token, watched decoded, and downloaded. The token stays in its
// field; EventSource sends no headers, so the stream is read from an answer to fetch.

import { $, put, show } from "./dom.js";
import { bytes, count } from "./format.js";
import { table } from "./table.js";

const keep = 500; // lines that are shown, the latest
const lines = [];
let running; // ends the capture of this page; undefined: there is none
let told = ""; // what was last told of a capture of this page
const broken = "The connection to lnetd has broken; if lnetd runs, the download has what came before";

// capture shows what everybody may know of captures: whether one runs, and how large the last one is.
export function capture(c) {
  if (!show("capture", c)) return;
  $("capture-start").disabled = Boolean(running) || c.running;
  $("capture-stop").disabled = !running;
  $("capture-download").disabled = c.bytes === 0;
  const others = c.running && !running ? "A capture of another page runs" : "";
  put($("say-capture"), told || others || "The token is in the file that metrics_capture_token names. The filter selects what is shown; the download has everything");
}

const words = (id) => $(id).value.split(/[\s,]+/).filter(Boolean);
const headers = () => ({ Authorization: `Bearer ${$("capture-token").value}`, "Content-Type": "application/json" });

// ask sends a request with the token. An error has the text of the answer.
async function ask(path, options) {
  const answer = await fetch(path, { headers: headers(), ...options });
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return answer;
}

// reports yields the reports in a stream of server-sent events.
async function* reports(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (let piece; !(piece = await reader.read()).done; ) {
    const events = (text + piece.value).split("\n\n");
    text = events.pop();
    for (const event of events) if (event.startsWith("data: ")) yield JSON.parse(event.slice(6));
  }
}

// take shows a report.
let missed = 0;
function take(report) {
  missed += report.missed;
  lines.push(...(report.lines ?? []));
  lines.splice(0, lines.length - keep);
  const lost = report.dropped ? `; ${count(report.dropped)} packets not captured: too fast` : "";
  const hidden = missed ? `; ${count(missed)} not shown: too many` : "";
  const end = report.ended ? `. Ended: ${report.ended}` : "";
  tell(`${count(report.records)} messages, ${bytes(report.bytes)}${lost}${hidden}${end}`, Boolean(report.ended));
  table("t-capture", "Messages of the capture, the latest last", ["Time (UTC)", "From", "To", "Message"], lines.map((l) => [l.time, l.from, l.to, l.what]));
  const box = $("t-capture").parentElement;
  box.scrollTop = box.scrollHeight;
}

// tell says what has become of a capture or a download, to screen readers not with each report.
function tell(text, aloud = true) {
  told = text;
  put($("say-capture"), text);
  if (aloud) put($("capture-status"), text, "hidden");
}

// start runs a capture until it ends.
async function start() {
  running = new AbortController();
  lines.length = missed = 0;
  $("capture-start").disabled = true;
  $("capture-stop").disabled = false;
  let answer;
  try {
    const order = {
      seconds: $("capture-seconds").valueAsNumber, mib: $("capture-mib").valueAsNumber, payload: $("capture-payload").checked,
      nids: words("capture-nids"), types: words("capture-types"), portals: words("capture-portals").map(Number),
    };
    tell("Starting");
    answer = await ask("capture", { method: "POST", body: JSON.stringify(order), signal: running.signal });
    let ended = false;
    for await (const report of reports(answer)) {
      take(report);
      ended = Boolean(report.ended);
    }
    if (!ended) tell(`${told}. ${broken}`);
  } catch (error) {
    tell(error.name === "AbortError" ? `${told}. Ended: stopped` : answer ? `${told}. ${broken}` : `No capture: ${error.message}`);
  }
  running = undefined;
  $("capture-start").disabled = false;
  $("capture-stop").disabled = true;
}

// download has the browser save the last capture.
async function download() {
  try {
    const answer = await ask("capture.pcapng");
    const link = document.createElement("a");
    link.href = URL.createObjectURL(await answer.blob());
    link.download = `${$("host").textContent}.pcapng`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  } catch (error) {
    tell(`No download: ${error.message}`);
  }
}

$("capture-form").addEventListener("submit", (e) => {
  e.preventDefault();
  if (!running) start();
});
$("capture-stop").addEventListener("click", () => running?.abort());
$("capture-download").addEventListener("click", download);

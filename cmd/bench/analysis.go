package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Parameters of the measurement of lnetdump --analyze.
const (
	lnetdump         = "cmd/lnetdump" // folder of the command, relative to the root of the tree
	analyzedMessages = 512            // PUTs of 1 MiB in a capture
	analysisRounds   = 5
	analysisMemory   = 64 // bound of the resident memory, in MiB
)

// segmentSizes are the sizes of TCP segments in captures of bulk data: those of Ethernet frames, and
// the larger ones that a host captures if its network card divides them (segmentation offload).
var segmentSizes = []struct {
	name string
	size int
}{
	{"frames of 1514 bytes", 1448},
	{"frames of 64 KiB, as a host with segmentation offload captures them", 65_000},
}

// measureAnalysis measures goal G-OP-3: how much of a capture lnetdump --analyze reads in a second
// of CPU time, and its memory. The captures have PUTs of 1 MiB, each with its ACK.
func measureAnalysis(b *measurement) {
	tool := must(buildLnetdump(b.ctx))
	defer tool.remove()
	for _, c := range segmentSizes {
		speed := line{what: "PUTs of 1 MiB in " + c.name, unit: "GiB/s", limit: 1, least: true}
		memory := line{what: "resident memory with " + c.name, unit: "MiB", limit: analysisMemory}
		if tool.missing != "" {
			speed.skipped, memory.skipped = tool.missing, tool.missing
		} else {
			analyzeRounds(b, tool, c.size, &speed, &memory)
		}
		b.add(speed, memory)
	}
}

// analyzeRounds fills in the result lines speed and memory for captures with one size of TCP segments.
func analyzeRounds(b *measurement, tool *compiled, segment int, speed, memory *line) {
	path := filepath.Join(tool.folder, "bulk.pcap")
	messages := analyzedMessages
	if b.rounds == 1 {
		messages = b.some(messages) // a run of one round, as in tests, only checks that the measurement works
	}
	size := writeBulkCapture(path, messages, segment)
	defer os.Remove(path)
	var speeds, sizes []float64
	for range min(b.rounds, analysisRounds) {
		u := analyzeOnce(b.ctx, tool.path, path, messages)
		speeds = append(speeds, float64(size)/(1<<30)/u.cpu)
		sizes = append(sizes, u.resident)
	}
	speed.ratio, memory.ratio = median(speeds), median(sizes)
	speed.basis = fmt.Sprintf("%d MiB of capture; seconds are CPU time of user and system", size>>20)
	memory.basis = fmt.Sprintf("%d MiB of capture", size>>20)
}

// buildLnetdump compiles lnetdump from the tree in which bench runs.
func buildLnetdump(ctx context.Context) (*compiled, error) {
	for _, folder := range []string{lnetdump, filepath.Join("..", "lnetdump")} { // path from the root of the tree, and from the folder in which the tests of bench run
		if _, err := os.Stat(filepath.Join(folder, "main.go")); err == nil {
			return recipe{tool: "go", before: []string{"build", "-trimpath", "-ldflags=-s"}, after: []string{"."}, folder: folder, packages: "Go"}.compile(ctx)
		}
	}
	return &compiled{missing: "its source, " + lnetdump + ", is not below this folder"}, nil
}

// analysisUsage is what one run of lnetdump took.
type analysisUsage struct {
	cpu      float64 // CPU time in seconds
	resident float64 // largest resident memory, in MiB
}

// analyzeOnce runs lnetdump --analyze, and ends the measurement unless lnetdump has found the PUTs and their
// ACKs.
func analyzeOnce(ctx context.Context, tool, capture string, messages int) (u analysisUsage) {
	cmd := exec.CommandContext(ctx, tool, "--analyze", "--json", capture)
	var out bytes.Buffer
	cmd.Stdout = &out
	succeed(cmd.Start())
	resident := peakMemory(cmd.Process.Pid)
	err := cmd.Wait()
	u.resident = resident()
	succeed(err)
	var report struct {
		Operations []struct{ Asked, Answered int }
	}
	succeed(json.Unmarshal(out.Bytes(), &report))
	if o := report.Operations; len(o) != 1 || o[0].Asked != messages || o[0].Answered != messages {
		succeed(fmt.Errorf("lnetdump --analyze: %+v, want %d PUTs with ACKs", o, messages))
	}
	u.cpu = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	return u
}

// peakMemory reads the most resident memory of a process (VmHWM) every few milliseconds until the
// returned function is called, which returns it in MiB. The field ru_maxrss of its resource
// usage is no alternative: it starts at the memory of the parent from which the process was forked.
func peakMemory(pid int) (end func() float64) {
	stop, peak := make(chan struct{}), make(chan float64)
	go func() {
		var most float64
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)) // empty after an error: the process has ended
			if _, rest, ok := bytes.Cut(text, []byte("VmHWM:")); ok {
				var kib float64
				if _, err := fmt.Sscan(string(rest), &kib); err == nil {
					most = max(most, kib/1024)
				}
			}
			select {
			case <-tick.C:
			case <-stop:
				peak <- most
				return
			}
		}
	}()
	return func() float64 { close(stop); return <-peak }
}

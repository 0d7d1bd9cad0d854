package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ulnet/cmd/internal/cli"
)

// TestOverdue: when operations are overdue all running workers are asked for their states, though not
// for each operation, and the states are kept.
func TestOverdue(t *testing.T) {
	s := &soak{dir: t.TempDir(), began: time.Now()}
	var err error
	if s.notes, err = os.Create(filepath.Join(s.dir, "soak.log")); err != nil {
		t.Fatal(err)
	}
	defer s.notes.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	running := &member{index: 1, process: &process{stdin: w}}
	s.members = []*member{{index: 0}, running}
	for _, what := range []string{"operation 1", "operation 2"} {
		if err := s.heed(running, notice{Kind: noticeOverdue, Text: what}, true); err != nil {
			t.Fatal(err)
		}
	}
	w.Close()
	if asked, _ := io.ReadAll(r); string(asked) != cmdState+"\n" {
		t.Errorf("the worker was told %q", asked)
	}
	if log, _ := os.ReadFile(s.notes.Name()); !strings.Contains(string(log), "operation 1") || !strings.Contains(string(log), "operation 2") {
		t.Errorf("log: %s", log)
	}
	for i := range 2 {
		if err := s.heed(running, notice{Kind: noticeState, State: &state{Open: 40 + i}}, true); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := os.ReadFile(filepath.Join(s.dir, "states.txt"))
	if err != nil || !strings.Contains(string(kept), "worker 1") || !strings.Contains(string(kept), `"open": 40`) || !strings.Contains(string(kept), `"open": 41`) {
		t.Errorf("%v, states: %s", err, kept)
	}
}

// TestWorkerState: a worker tells its state at any time, also after cmdStop.
func TestWorkerState(t *testing.T) {
	in, commands := io.Pipe()
	answers, out := io.Pipe()
	var log bytes.Buffer
	ended := make(chan error, 1)
	go func() {
		env := cli.Env{Stdin: in, Stdout: out, Stderr: &log}
		cfg := workerConfig{Networks: "lo", Names: []string{"0@lo"}, Rate: 1, Timeout: calmTimeout}
		err := runWorker(t.Context(), env, cfg, io.Discard)
		out.Close()
		ended <- err
	}()
	lines := bufio.NewScanner(answers)
	expect := func(want noticeKind) (n notice) {
		t.Helper()
		if !lines.Scan() {
			t.Fatalf("no answer: %v", <-ended)
		}
		if err := json.Unmarshal(lines.Bytes(), &n); err != nil || n.Kind != want {
			t.Fatalf("%s: %v, want %v", lines.Bytes(), err, want)
		}
		return n
	}
	expect(noticeReady)
	for _, step := range []struct {
		command string
		want    noticeKind
	}{{cmdState, noticeState}, {cmdStop, noticeStopped}, {cmdState, noticeState}} {
		_, _ = io.WriteString(commands, step.command+"\n")
		n := expect(step.want)
		if step.want == noticeState && (n.State == nil || len(n.State.NIs) != 1 || n.State.NIs[0].NID.String() != "0@lo") {
			t.Errorf("state %+v", n.State)
		}
	}
	_, _ = io.WriteString(commands, cmdQuit+"\n")
	if err := <-ended; err != nil {
		t.Errorf("%v: %s", err, &log)
	}
}

// TestOldest: a state names the operations that are overdue, the oldest first.
func TestOldest(t *testing.T) {
	now := time.Now()
	tr := &traffic{open: make(map[uint32]*operation)}
	for i := range uint32(3 * maxOverdue) {
		tr.open[i] = &operation{id: opID{Seq: i}, kind: opGet, size: 5, target: 1, began: now.Add(-time.Duration(i) * overdueAfter / maxOverdue)}
	}
	open, list := tr.oldest(now)
	if open != 3*maxOverdue || len(list) != maxOverdue || list[0] != "operation 0.0.47 (GET of 5 bytes to worker 1), 11.8 s old" {
		t.Errorf("%d in flight, overdue %q", open, list)
	}
}

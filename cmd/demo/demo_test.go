package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ulnet/cmd/internal/commands"
	"ulnet/lnd/capture/capturetest"
	"ulnet/lnd/lndtest/effort"
)

// build builds the commands that the demonstration needs and returns their folder.
func build(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds and starts programs; skipped by -short")
	}
	dir, err := commands.Build(t.TempDir(), "demo", "lnetd", "lnetctl", "lst", "lnetsim", "gossipctl", "scollctl", "lnetdump")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// demo prepares a run of the demonstration whose temporary files are in the folder temp.
func demo(t *testing.T, bin string, args ...string) (cmd *exec.Cmd, temp string) {
	t.Helper()
	temp = t.TempDir()
	cmd = exec.CommandContext(t.Context(), filepath.Join(bin, "demo"), args...)
	cmd.Env = append(os.Environ(), "TMPDIR="+temp)
	return cmd, temp
}

func wantEmpty(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestDemo plays all acts over TCP. Over RDMA it plays them all in the long form; otherwise those that
// show the network itself, the death of a peer, and a tree of peers.
func TestDemo(t *testing.T) {
	bin := build(t)
	onRDMA := effort.Of(nil, []string{"messages", "gossip", "scoll"}, nil)
	for name, test := range map[string]func(*testing.T){
		"undisturbed":      func(t *testing.T) { undisturbed(t, bin, "tcp") },
		"on RDMA":          func(t *testing.T) { undisturbed(t, bin, "o2ib", onRDMA...) },
		"interrupted":      func(t *testing.T) { interrupted(t, bin) },
		"output closed":    func(t *testing.T) { outputClosed(t, bin) },
		"without commands": func(t *testing.T) { withoutCommands(t, bin) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
}

// hosts matches the addresses in the first line of a demonstration.
var hosts = regexp.MustCompile(`: (127\.[0-9]+\.[0-9]+)\.1@(tcp|o2ib), `)

// columns matches the blanks between columns, whose widths depend on NIDs.
var columns = regexp.MustCompile(` {2,}`)

// undisturbed checks the output of the demonstration on a network. Before the check it replaces the
// addresses in the output, which vary, by 127.0.0.N@tcp.
func undisturbed(t *testing.T, bin, net string, only ...string) {
	file := filepath.Join(t.ArtifactDir(), net+".pcapng")
	cmd, temp := demo(t, bin, "--net", net, "--capture", file, "--act", strings.Join(only, ","))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	wantEmpty(t, temp)
	if net == "tcp" {
		t.Run("tshark agrees", func(t *testing.T) { tsharkAgrees(t, file) })
	} else {
		// If a packet arrives out of order and is sent again, tshark shows its first copy, and lnetdump the copy
		// that the receiver accepted. On loopback all packets arrive in order, so both show the same.
		t.Run("tshark agrees", func(t *testing.T) { capturetest.AgreeOnRoCE(t, file) })
	}
	text := string(out)
	if m := hosts.FindStringSubmatch(text); m == nil || m[2] != net {
		t.Errorf("no %s hosts", net)
	} else {
		text = strings.ReplaceAll(strings.ReplaceAll(text, m[1]+".", "127.0.0."), "@"+net, "@tcp")
	}
	text = columns.ReplaceAllString(text, "  ")
	for act, all := range wants(net) {
		if len(only) > 0 && !slices.Contains(only, act) {
			continue
		}
		for _, want := range all {
			if got := strings.Count(text, columns.ReplaceAllString(want.what, "  ")); got != want.count {
				t.Errorf("%s: %q appears %d times, want %d", act, want.what, got, want.count)
			}
		}
	}
	if t.Failed() {
		t.Logf("output:\n%s", text)
	}
}

// tsharkAgrees: an independent dissector finds the same messages in the capture, with equal
// types, NIDs, payload lengths and cookies.
func tsharkAgrees(t *testing.T, file string) {
	const atLeast = 4*2 + 2 + 2 + 1 // 4 pings, a PUT with ACK, a GET with REPLY, and the PUT that is lost
	if n := len(capturetest.Messages(t, file)); n < atLeast {
		t.Errorf("the capture holds %d messages, want at least %d", n, atLeast)
	}
	capturetest.AgreeWithTshark(t, file)
}

// interrupted interrupts the demonstration while its daemons run. The demonstration can remove
// its folder only after the daemons have ended, so an empty folder shows that the daemons have
// ended and that the demonstration cleaned up.
func interrupted(t *testing.T, bin string) {
	cmd, temp := demo(t, bin)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	if !lines.Scan() || !strings.HasPrefix(lines.Text(), "Three LNet nodes") {
		t.Errorf("first line is %q", lines.Text())
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("ended with %v, want exit status 1; stderr:\n%s", err, &stderr)
	}
	wantEmpty(t, temp)
}

// outputClosed closes the reading end of the output early, as "make demo | head" does.
func outputClosed(t *testing.T, bin string) {
	cmd, temp := demo(t, bin)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := stdout.Read(make([]byte, 1)); err != nil {
		t.Error(err)
	}
	stdout.Close()
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("ended with %v, want exit status 1", err)
	}
	wantEmpty(t, temp)
}

func withoutCommands(t *testing.T, bin string) {
	cmd, temp := demo(t, bin, "--bin", t.TempDir())
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), "make build makes it") {
		t.Errorf("ended with %v and said %q", err, out)
	}
	wantEmpty(t, temp)
}

// TestBoardIsNarrow: on a narrow terminal no line of the table takes two rows, because only one
// of the two would be redrawn.
func TestBoardIsNarrow(t *testing.T) {
	var out strings.Builder
	l := &lab{size: wardServers + wardClients}
	for i := range wardServers {
		l.nodes = append(l.nodes, &node{nid: fmt.Sprintf("127.0.0.%d@tcp", i+1)})
	}
	b := &board{l: l, w: &out, live: true, columns: 40}
	held := []map[string]string{{"client-a": "master"}, {"client-a": "connected"}, {"client-a": "connected"}}
	for range 2 {
		if err := b.draw(held); err != nil {
			t.Fatal(err)
		}
	}
	first, second, again := strings.Cut(out.String(), "\x1b[4A\x1b[J")
	if !again || first != second || !strings.Contains(first, "\n    client-a  master         connected") {
		t.Fatalf("%q", out.String())
	}
	for line := range strings.Lines(first) {
		if n := len(line) - len("\n"); n > b.columns {
			t.Errorf("%d columns: %q", n, line)
		}
	}
}

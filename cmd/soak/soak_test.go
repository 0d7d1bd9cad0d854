package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ulnet/cmd/internal/cli"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/netlab"
)

// TestMain runs the tests. In a process that soak has started as a worker, it is the worker instead: a correct
// one, or one that breaks a rule.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "worker" {
		if lie := os.Getenv(lieVariable); lie != "" {
			os.Exit(beLiar(lie))
		}
		main()
	}
	os.Exit(m.Run())
}

const lieVariable = "SOAK_TEST_LIE"

// beLiar is the main function of a worker that breaks a rule as soon as it gets the command to
// start.
func beLiar(lie string) int {
	say := json.NewEncoder(os.Stdout)
	j := &journal{out: os.NewFile(journalFD, "journal")}
	_ = say.Encode(notice{Kind: noticeReady})
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		switch lie {
		case "duplicate":
			j.add(record{Kind: arrived})
			j.add(record{Kind: arrived})
		case "content":
			_ = say.Encode(notice{Kind: noticeViolation, Text: "wrong bytes"})
		case "crash":
			panic("on purpose")
		}
	}
	return 0
}

// TestViolation: a violation ends the run at once, with evidence and the command that repeats
// it.
func TestViolation(t *testing.T) {
	needLab(t)
	for lie, want := range map[string]string{"duplicate": "arrived twice", "content": "wrong bytes", "crash": "on purpose"} {
		t.Run(lie, func(t *testing.T) {
			t.Setenv(lieVariable, lie)
			t.Setenv("TMPDIR", t.TempDir())
			code, stdout, stderr := runCommand(t, "--time", "1h", "--seed", "7", "--hosts", "2", "--faults", "none")
			if code != cli.Failed || stdout != "" {
				t.Errorf("exit %d, printed %q", code, stdout)
			}
			for _, part := range []string{"VIOLATION", "seed 7", want, "again: bin/soak --time 1h0m0s --seed 7"} {
				if !strings.Contains(stderr, part) {
					t.Errorf("no %q in %q", part, stderr)
				}
			}
			if found, _ := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "soak*", "journal.txt")); len(found) != 1 {
				t.Errorf("evidence: %v", found)
			}
		})
	}
}

// TestInterrupted: an interrupted run leaves nothing behind.
func TestInterrupted(t *testing.T) {
	needLab(t)
	t.Setenv("TMPDIR", t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	env := cli.Env{Stdin: strings.NewReader(""), Stdout: new(bytes.Buffer), Stderr: new(bytes.Buffer), Getenv: func(string) string { return "" }}
	if code := run(ctx, env, nil); code != cli.Failed {
		t.Errorf("exit %d, want %d", code, cli.Failed)
	}
	if left, _ := os.ReadDir(os.Getenv("TMPDIR")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func runCommand(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	env := cli.Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }}
	code = run(t.Context(), env, args)
	return code, out.String(), errs.String()
}

// needLab skips the test if network namespaces are not available.
func needLab(t *testing.T) {
	t.Helper()
	lab := netlab.New(t)
	a, b := lab.Host("a"), lab.Host("b")
	lab.Wire(a, "10.1.0.1/24", b, "10.1.0.2/24", 1).SetLoss(a, 0.1)
}

// TestSoak runs the soak for a short time, always with the same plan.
func TestSoak(t *testing.T) {
	needLab(t)
	tests := []struct {
		name string
		args []string
		long bool
		want []faultKind // kinds of faults that the plan must have
	}{
		{"no fault", []string{"--time", "2s", "--faults", "none"}, false, nil},
		{"no fault, IPv6", []string{"--time", "2s", "--faults", "none", "--ipv6"}, false, nil},
		{"network", []string{"--time", "10s", "--faults", "loss,rate,delay,reorder,duplicate,corrupt,mix,link down,mtu,tcp reset"}, true, []faultKind{faultLink, faultReset, faultReorder}},
		{"processes", []string{"--time", "12s", "--faults", "stop,kill"}, true, []faultKind{faultStop, faultKill}},
		{"everything", []string{"--time", "15s"}, true, []faultKind{faultKill, faultStop, faultRate, faultMTU}},
		{"rails and a router", []string{"--hosts", "4", "--rails", "2", "--routers", "1", "--time", "15s", "--faults", "link down,kill"}, true, []faultKind{faultLink, faultKill}},
		{"mixed, rails and a router", []string{"--net", "mixed", "--hosts", "4", "--rails", "2", "--routers", "1", "--time", "15s", "--faults", "link down,kill"}, true, []faultKind{faultLink, faultKill}},
		{"mixed, no fault", []string{"--net", "mixed", "--rails", "2", "--routers", "1", "--time", "2s", "--faults", "none"}, true, nil},
		{"o2ib, no fault", []string{"--net", "o2ib", "--time", "2s", "--faults", "none"}, false, nil},
		{"o2ib, brief", []string{"--net", "o2ib", "--time", "6s", "--seed", "168", "--faults", "loss,corrupt,reorder,link down,kill"}, true, []faultKind{faultLoss, faultCorrupt, faultLink, faultKill}},
	}
	// covered has the cases that run only in long runs, each with another case that has all its
	// faults.
	covered := map[string]string{"processes": "everything", "rails and a router": "mixed, rails and a router"}
	for _, tt := range tests {
		if covered[tt.name] != "" && !effort.Long() {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.long && testing.Short() {
				t.Skip("takes long; skipped by -short")
			}
			code, stdout, stderr := runCommand(t, append([]string{"--seed", "12", "--hosts", "3", "--rate", effort.Of("30", "30", "100"), "--json"}, tt.args...)...)
			if code != cli.OK {
				t.Fatalf("exit %d: %s", code, stderr)
			}
			var r report
			if err := json.Unmarshal([]byte(stdout), &r); err != nil {
				t.Fatal(err)
			}
			for _, kind := range tt.want {
				if r.Faults[kind.String()].Times == 0 {
					t.Errorf("no %v in %v", kind, r.Faults)
				}
			}
			for kind, o := range r.Operations {
				if o.OK == 0 || o.Bytes == 0 || o.Arrived == 0 {
					t.Errorf("%s: %+v", kind, o)
				}
			}
		})
	}
}

func TestUsage(t *testing.T) {
	tests := []struct {
		name, want string
		args       []string
	}{
		{"one host", "--hosts 1: from 2 to 16", []string{"--hosts", "1"}},
		{"unknown network", `no network "ib": want tcp, o2ib or mixed`, []string{"--net", "ib"}},
		{"IPv6 over RDMA", "--ipv6: networks of type o2ib", []string{"--net", "o2ib", "--ipv6"}},
		{"TCP's fault over RDMA", "tcp reset does nothing to o2ib", []string{"--net", "o2ib", "--faults", "kill,tcp reset"}},
		{"mixed without routers", "--net mixed: takes --routers 1 or more", []string{"--net", "mixed"}},
		{"too many rails", "--rails 5: from 1 to 4", []string{"--rails", "5"}},
		{"no time", "--time 0s: too short", []string{"--time", "0"}},
		{"unknown fault", `no fault "fire"; there are loss, rate`, []string{"--faults", "loss,fire"}},
		{"no rate", "--rate 0", []string{"--rate", "0"}},
		{"log level", `"loud"`, []string{"--log-level", "loud"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, _, stderr := runCommand(t, tt.args...)
			if code != cli.Usage || !strings.Contains(stderr, tt.want) {
				t.Errorf("exit %d, %q; want %d and %q", code, stderr, cli.Usage, tt.want)
			}
		})
	}
}

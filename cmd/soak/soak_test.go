package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"ulnet/cmd/internal/cli"
	"ulnet/lnd/lndtest/netlab"
)

// TestMain lets the test binary be a worker too.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "worker" {
		main()
	}
	os.Exit(m.Run())
}

func runCommand(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	env := cli.Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }}
	code = run(t.Context(), env, args)
	return code, out.String(), errs.String()
}

// needLab skips the test where there can be no lab.
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
	}{
		{"no fault", []string{"--time", "1s", "--faults", "none"}, false},
		{"network", []string{"--time", "4s", "--faults", "loss,rate,delay,reorder,duplicate,corrupt,mix,link down,mtu,tcp reset"}, true},
		{"processes", []string{"--time", "20s", "--faults", "stop,kill"}, true},
		{"everything", []string{"--time", "20s"}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.long && testing.Short() {
				t.Skip("takes long; skipped by -short")
			}
			code, stdout, stderr := runCommand(t, append(tt.args, "--seed", "1", "--hosts", "3", "--rate", "100", "--json")...)
			if code != cli.OK {
				t.Fatalf("exit %d: %s", code, stderr)
			}
			var r report
			if err := json.Unmarshal([]byte(stdout), &r); err != nil {
				t.Fatal(err)
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

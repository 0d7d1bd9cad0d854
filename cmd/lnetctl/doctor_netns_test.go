//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"ulnet/cmd/internal/commands"
	"ulnet/cmd/internal/doctor"
	"ulnet/cmd/internal/transcript"
	"ulnet/lnd/lndtest/needs"
	"ulnet/lnd/lndtest/netlab"
	"ulnet/lnd/lndtest/spec"
)

// TestDoctor examines a daemon with a peer on another host. At first their peer_credits over RDMA differ
// and all else is well; later the peer is cut off.
func TestDoctor(t *testing.T) {
	t.Parallel() // the test mostly waits for answers that do not come
	spec.Covers(t, "OP-40", "OP-43")
	needs.Program(t, "nft")
	bin, err := commands.Build(t.TempDir(), "lnetd", "lnetctl")
	if err != nil {
		t.Fatal(err)
	}
	lab := netlab.New(t)
	stage := transcript.NewStage(t, bin)
	sw := lab.Switch("1")
	for i, name := range []string{"A", "B"} {
		stage.Hosts[name] = lab.Host(name)
		lab.Cable(stage.Hosts[name], fmt.Sprintf("10.4.0.%d/24", i+1), sw, "")
		stage.Start(name, "tcp(eth0), o2ib(eth0)", map[string]string{"A": "o2ib:\n  peer_credits: 16\n"}[name])
	}
	a := &examined{stage}
	found, _ := a.examine(t, "--timeout", "30s", "--limit", "5m", "10.4.0.2@tcp", "10.4.0.2@o2ib")
	for _, f := range found {
		unequal := f.Check == "tunables" && f.Subject == "10.4.0.1@o2ib" && strings.Contains(f.Next, "peer_credits")
		if f.Outcome != doctor.OK && f.Check != "clock" && f.Check != "gro" && !unequal { // the clock of this machine may be wrong, and GRO of a new veth interface is off
			t.Errorf("where all else is well: %+v", f)
		}
	}
	if !contains(found, "tunables", doctor.Warn) {
		t.Errorf("peer_credits 8 of the peer: %+v", found)
	}
	stage.Hosts["B"].Block("10.4.0.1")
	found, code := a.examine(t, "--timeout", "200ms", "--limit", "5m", "10.4.0.2@tcp")
	if code != exitFailed || !contains(found, "reach", doctor.Fail) {
		t.Errorf("cut off: exit code %d, %+v", code, found)
	}
	if contains(found, "link", doctor.Fail) || contains(found, "port", doctor.Fail) || contains(found, "credits", doctor.Fail) {
		t.Errorf("cut off, other checks: %+v", found)
	}
}

func contains(found []doctor.Finding, check string, v doctor.Outcome) bool {
	for _, f := range found {
		if f.Check == check && f.Outcome == v {
			return true
		}
	}
	return false
}

// examined is the daemon of host A.
type examined struct{ stage *transcript.Stage }

// examine runs lnetctl doctor in the network namespace of host A.
func (p *examined) examine(t *testing.T, args ...string) (found []doctor.Finding, code int) {
	t.Helper()
	var out []byte
	if err := p.stage.Hosts["A"].Do(func() (err error) {
		cmd := exec.Command(p.stage.Bin+"/lnetctl", append([]string{"--socket", p.stage.Socket("A"), "doctor", "--json"}, args...)...)
		out, err = cmd.Output()
		if code = cmd.ProcessState.ExitCode(); code == exitFailed || code == exitWarned {
			err = nil
		}
		return err
	}); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var d diagnosis
	if err := json.Unmarshal(out, &d); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	return d.Findings, code
}

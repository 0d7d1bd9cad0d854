//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"ulnet/cmd/internal/commands"
	"ulnet/cmd/internal/transcript"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/netlab"
)

// acceptanceShell defines the commands that the scripts in testdata/acceptance have in addition
// to those of a shell: one for each host, which runs lnetctl there, and
//
//	says PATTERN...        fails unless standard input has a line for each pattern
//	silent PATTERN         fails if standard input has such a line
//	fails COMMAND          fails unless the command fails
//	soon COMMAND           repeats a command until it succeeds
//	waits PATTERN COMMAND  repeats a command until it prints a line with the pattern
const acceptanceShell = `
says() { cat > said.$$; for p; do grep -q -- "$p" said.$$ || { echo "nothing says $p:"; cat said.$$; return 1; }; done; }
silent() { cat > said.$$; if grep -- "$1" said.$$; then return 1; fi; }
waits() { pattern=$1; shift; soon prints "$pattern" "$@"; }
prints() { pattern=$1; shift; "$@" | grep -- "$pattern"; }
fails() { if "$@" > failed.out 2>&1; then echo "$* does not fail"; cat failed.out; return 1; fi; }
`

// restartLine matches a line of a script that restarts the daemon of a host.
var restartLine = regexp.MustCompile(`(?m)^restart ([A-Z])$`)

// acceptance is a script with its hosts. If there is a file H.conf, the daemon of host H reads
// it as a real host's daemon reads /etc/lnet.conf.
type acceptance struct {
	*transcript.Stage
	networks map[string]string
}

// TestAcceptance runs the sequences of commands by which configuration roles and manuals set up
// nodes. The line "# hosts:" of a script names the hosts with daemons.
func TestAcceptance(t *testing.T) {
	bin, err := commands.Build(t.TempDir(), "lnetd", "lnetctl")
	if err != nil {
		t.Fatal(err)
	}
	scripts, err := filepath.Glob("testdata/acceptance/*.sh")
	if err != nil || len(scripts) < 3 {
		t.Fatalf("%d scripts, %v", len(scripts), err)
	}
	for _, script := range effort.Some(3, scripts) {
		t.Run(strings.TrimSuffix(filepath.Base(script), ".sh"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(script)
			if err != nil {
				t.Fatal(err)
			}
			a := &acceptance{
				Stage:    transcript.NewStage(t, bin),
				networks: map[string]string{},
			}
			a.build()
			a.play(string(text))
		})
	}
}

// build makes the hosts: a client C, a router R, a server S with two rails, and a peer P of S
// with two rails.
func (a *acceptance) build() {
	lab := netlab.New(a.T)
	one, two, three := lab.Switch("1"), lab.Switch("2"), lab.Switch("3")
	for _, name := range []string{"C", "R", "S", "P"} {
		a.Hosts[name] = lab.Host(name)
	}
	lab.Cable(a.Hosts["C"], "10.1.0.1/24", one, "")
	lab.Cable(a.Hosts["R"], "10.1.0.254/24", one, "")
	lab.Cable(a.Hosts["R"], "10.2.0.254/24", two, "")
	for host, last := range map[string]int{"S": 5, "P": 6} {
		lab.Cable(a.Hosts[host], fmt.Sprintf("10.2.0.%d/24", last), two, "")
		lab.Cable(a.Hosts[host], fmt.Sprintf("10.3.0.%d/24", last), three, "")
	}
}

// play starts the daemons of a script and runs it part by part.
func (a *acceptance) play(script string) {
	a.T.Helper()
	_, hosts, ok := strings.Cut(script, "# hosts: ")
	if !ok {
		a.T.Fatal("the script has no line of hosts")
	}
	hosts, _, _ = strings.Cut(hosts, "\n")
	for host := range strings.SplitSeq(hosts, ", ") {
		name, networks, _ := strings.Cut(host, " ")
		a.networks[name] = networks
		a.begin(name)
	}
	for script != "" {
		at := restartLine.FindStringSubmatchIndex(script)
		if at == nil {
			a.shell(script)
			return
		}
		a.shell(script[:at[0]])
		a.restart(script[at[2]:at[3]])
		script = script[at[1]:]
	}
}

// begin starts the daemon of a host.
func (a *acceptance) begin(host string) {
	a.T.Helper()
	settings, networks := "alive_router_check_interval: 1\nrouter_ping_timeout: 3\n", a.networks[host]
	if file := filepath.Join(a.Dir, host+".conf"); networks == "lo" {
		if _, err := os.Stat(file); err == nil {
			settings += "lnet_conf: " + file + "\n"
		}
	}
	a.Start(host, networks, settings)
}

func (a *acceptance) restart(host string) {
	a.T.Helper()
	if err := a.Stop(host); err != nil {
		a.T.Fatalf("lnetd of %s: %v", host, err)
	}
	a.begin(host)
}

// shell runs a part of a script.
func (a *acceptance) shell(part string) {
	a.T.Helper()
	var b strings.Builder
	b.WriteString("set -eu\n" + acceptanceShell)
	for host := range a.networks {
		fmt.Fprintf(&b, "%s() { '%s/lnetctl' --socket '%s' \"$@\"; }\n", host, a.Bin, a.Socket(host))
	}
	deadline := time.Now().Add(3 * time.Minute).Unix()
	fmt.Fprintf(&b, "soon() { until \"$@\" > soon.out 2>&1; do [ $(date +%%s) -lt %d ] || { echo \"never: $*\"; cat soon.out; return 1; }; sleep 0.1; done; cat soon.out; }\n", deadline)
	var out bytes.Buffer
	cmd := exec.Command("sh", "-c", b.String()+part)
	cmd.Dir, cmd.Stdout, cmd.Stderr = a.Dir, &out, &out
	if err := cmd.Run(); err != nil {
		a.T.Fatalf("%v after\n%s\nwhich says\n%s", err, part, tail(out.String(), 60))
	}
}

// tail returns the last lines of a text.
func tail(text string, lines int) string {
	all := strings.SplitAfter(text, "\n")
	return strings.Join(all[max(len(all)-lines, 0):], "")
}

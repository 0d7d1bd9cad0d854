// Package scripttest runs the scripts that test the commands: testscript with the real
// programs and these additional commands:
//
//	node NAME ADDR [FLAG...]       starts lnetd on a loopback address; its control socket is NAME
//	start NAME PROGRAM [ARG...]    runs a program and waits until it writes a line to standard
//	                               error, or with -out NAME to standard output
//	signal NAME TERM|INT|KILL|HUP  sends a signal to a program of node or start
//	await NAME [CODE]              waits for its end with an exit code (0, -1 after a signal)
//	code CODE PROGRAM [ARG...]     runs a program and wants an exit code; its output is in
//	                               code.out and code.err
//	unprivileged PROGRAM [ARG...]  like code 0, or with ! like code 1, without CAP_NET_BIND_SERVICE
//	TOOL [ARG...]                  like exec TOOL [ARG...], where TOOL is the command of the
//	                               package under test, but without the start of a process
//	until PATTERN PROGRAM [ARG...] runs a program repeatedly until the regular expression PATTERN
//	                               matches its standard output
//	bigfile NAME SIZE              makes a file whose content does not repeat
//
// code and until do not start a process for TOOL either. Lines of TOOL do not see what env and stdin
// set: after these it must be exec TOOL, and scripts with cd are refused. A script fails if TOOL has a
// data race, or writes to the standard error of its process.
//
// Programs of node and start write to NAME.out and NAME.err and are killed when the
// script ends. With UPDATE in the environment cmp replaces files of a script by what it has got.
// $PORT is a TCP port that is free on 127.0.0.1 to .4, and
// $IB.1 to $IB.4 are addresses where RoCE's UDP port is free.
// The condition [privileged-ports] holds if port 988 needs a privilege and the test has
// it.
package scripttest

import (
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"ulnet/cmd/internal/commands"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/loopback"
)

// limit bounds the time of all scripts of a package together. After it, running programs are
// killed, and their scripts fail.
const limit = 25 * time.Minute

// Run runs the scripts of a package that is no tool, as Tool.Scripts does.
func Run(t *testing.T, dir string, names ...string) {
	t.Helper()
	Tool{}.Scripts(t, dir, names...)
}

// Scripts runs the scripts of a directory, each as a subtest, with the named commands of this
// repository in PATH. A short run has every third script. The package's TestMain must call Main.
func (tool Tool) Scripts(t *testing.T, dir string, names ...string) {
	t.Helper()
	bin, err := commands.Build(t.TempDir(), names...)
	if err != nil {
		t.Fatal(err)
	}
	scripts, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts in %s: %v", dir, err)
	}
	for _, path := range scripts {
		script, err := os.ReadFile(path)
		if err == nil {
			err = tool.check(path, string(script))
		}
		if err != nil {
			t.Error(err)
		}
	}
	testscript.Run(t, tool.params(bin, effort.Some(3, scripts)))
}

// params returns how scripts run with the commands in the folder bin.
func (tool Tool) params(bin string, scripts []string) testscript.Params {
	return testscript.Params{
		Files:               scripts,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Deadline:            time.Now().Add(limit),
		Setup: func(env *testscript.Env) error {
			env.Vars = append(append(env.Vars, raceOptions), tool.Vars...)
			env.Setenv("PATH", bin+string(filepath.ListSeparator)+env.Getenv("PATH"))
			port, err := loopback.FreePort(
				netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("127.0.0.2"),
				netip.MustParseAddr("127.0.0.3"), netip.MustParseAddr("127.0.0.4"))
			if err != nil {
				return err
			}
			env.Setenv("PORT", strconv.Itoa(int(port)))
			hosts, err := loopback.FreeHosts(4)
			if err != nil {
				return err
			}
			env.Setenv("IB", strings.TrimSuffix(hosts[0].String(), ".1"))
			p := &processes{byName: map[string]*process{}, server: server{tool: tool, env: slices.Clone(env.Vars)}}
			env.Values[processesKey{}] = p
			env.Defer(func() { p.killAll(env.T()) })
			return nil
		},
		Condition:     condition,
		Cmds:          tool.cmds(),
		UpdateScripts: os.Getenv("UPDATE") != "",
	}
}

// cmds returns the additional commands of scripts.
func (tool Tool) cmds() map[string]func(*testscript.TestScript, bool, []string) {
	cmds := map[string]func(*testscript.TestScript, bool, []string){
		"node": cmdNode, "start": cmdStart, "signal": cmdSignal, "await": cmdAwait,
		"code": cmdCode, "until": cmdUntil, "unprivileged": cmdUnprivileged, "bigfile": cmdBigFile,
	}
	maps.Copy(cmds, tool.Cmds)
	if tool.Name != "" {
		cmds[tool.Name] = cmdTool
	}
	return cmds
}

// condition reports whether a line that begins with [name] is executed.
func condition(name string) (bool, error) {
	switch name {
	case "race": // tests under the race detector with -short; such a run omits work of a single goroutine
		return effort.Race && testing.Short(), nil
	case "privileged-ports":
		return privilegedPorts()
	}
	return false, fmt.Errorf("unknown condition %q", name)
}

// privilegedPorts reports whether the acceptor's default port needs a privilege that this
// process has.
func privilegedPorts() (bool, error) {
	first, err := os.ReadFile("/proc/sys/net/ipv4/ip_unprivileged_port_start")
	if err != nil {
		return false, nil // the system is not Linux
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(first)))
	return os.Getuid() == 0 && n > 988, err
}

//go:build linux

package installtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"ulnet/cmd/internal/commands"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/needs"
	"ulnet/lnd/lndtest/spec"
)

// everything is a configuration in which lnetd does all that it can do.
const everything = `
networks: tcp(127.0.0.1),o2ib(127.0.0.1)
accept_port: 9884
multicast_port: 9885
metrics: DIR/metrics.sock
selftest: 1
capture: DIR/lnet.pcapng
gossip:
  nids: ['127.0.0.[1-2]@tcp']
scoll:
  enable: 1
rmcast:
  enable: 1
  nid: 127.0.0.1@tcp
  groups:
    news:
      number: 7
      managers: ['127.0.0.1@tcp']
      join: 1
zone:
  name: rack1
  node: n1
  nids: ['127.0.0.1@tcp']
health:
  server: 1
`

// TestSystemCalls: the unit permits all system calls that lnetd makes, and the families of all sockets that
// lnetd opens.
func TestSystemCalls(t *testing.T) {
	spec.Covers(t, "OP-20")
	if !effort.Long() {
		t.Skip("traces a daemon: runs with ULNET_LONG=1")
	}
	analyze, strace := needs.Program(t, "systemd-analyze"), needs.Program(t, "strace")
	u := readUnit(t, "lnetd.service")
	sets := callSets(run(t, exec.CommandContext(t.Context(), analyze, "--no-pager", "syscall-filter")))
	bin, err := commands.Build(t.TempDir(), "lnetd", "lnetctl")
	if err != nil {
		t.Fatal(err)
	}
	made, families := trace(t, strace, bin)
	for _, call := range made {
		if !sets.allow(u["SystemCallFilter"], call) {
			t.Errorf("the unit refuses the call %s", call)
		}
	}
	for _, family := range families {
		if !slices.Contains(u.words("RestrictAddressFamilies"), family) {
			t.Errorf("the unit refuses sockets of %s", family)
		}
	}
	for _, want := range []string{"AF_NETLINK", "AF_INET", "AF_UNIX"} {
		if !slices.Contains(families, want) {
			t.Errorf("lnetd opens no socket of %s: the unit need not allow it", want)
		}
	}
	if len(made) < 30 {
		t.Errorf("lnetd made these calls alone: %v", made)
	}
}

// trace returns the system calls of a daemon, and the families of its sockets.
func trace(t *testing.T, strace, bin string) (calls, families []string) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "trace")
	writeFile(t, filepath.Join(dir, "lnetd.yaml"), strings.ReplaceAll(everything, "DIR", dir))
	manager := listen(t, filepath.Join(dir, "notify"))
	// The namespace is for the port of RoCE and the multicast of the daemon.
	cmd := exec.Command("unshare", "--net", "--", "sh", "-c", `ip link set lo up; exec "$@"`, "sh",
		strace, "--follow-forks", "-qq", "-o", file, filepath.Join(bin, "lnetd"), "--config", filepath.Join(dir, "lnetd.yaml"), "--state-dir", dir, "--runtime-dir", dir)
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	said := func() string { return readFile(t, log.Name()) }
	cmd.Env, cmd.Stderr = append(os.Environ(), "NOTIFY_SOCKET="+filepath.Join(dir, "notify"), "WATCHDOG_USEC=400000"), log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	end := func(s syscall.Signal) { _ = syscall.Kill(-cmd.Process.Pid, s) } // fails if the daemon has ended
	defer end(syscall.SIGKILL)
	awaitState(t, manager, "READY=1", said)
	if out, err := exec.CommandContext(t.Context(), filepath.Join(bin, "lnetctl"), "--socket", filepath.Join(dir, "lnetd.sock"), "ping", "127.0.0.1@tcp", "127.0.0.1@o2ib").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	awaitState(t, manager, "WATCHDOG=1", said)
	end(syscall.SIGTERM)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, said())
	}
	text := readFile(t, file)
	for _, m := range regexp.MustCompile(`(?m)^\d+ +([a-z0-9_]+)\(`).FindAllStringSubmatch(text, -1) {
		calls = append(calls, m[1])
	}
	for _, m := range regexp.MustCompile(`(?m)^\d+ +socket\((AF_[A-Z0-9]+)`).FindAllStringSubmatch(text, -1) {
		families = append(families, m[1])
	}
	slices.Sort(calls)
	slices.Sort(families)
	return slices.Compact(calls), slices.Compact(families)
}

// sets are systemd's sets of system calls.
type sets map[string][]string

// callSets reads what 'systemd-analyze syscall-filter' prints.
func callSets(text string) sets {
	all, name := sets{}, ""
	for line := range strings.Lines(text) {
		word := strings.TrimSpace(line)
		switch {
		case word == "" || word[0] == '#':
		case line[0] == '@':
			name = word
		case name != "" && line[0] == ' ':
			all[name] = append(all[name], word)
		}
	}
	return all
}

// has reports whether a set, or one within it, has a call.
func (s sets) has(set, call string) bool {
	return set == call || slices.ContainsFunc(s[set], func(within string) bool { return s.has(within, call) })
}

// allow reports whether filters, each a list of sets, let a call pass. A filter that begins with ~
// removes calls.
func (s sets) allow(filters []string, call string) bool {
	allowed := false
	for _, f := range filters {
		f, removes := strings.CutPrefix(f, "~")
		for set := range strings.FieldsSeq(f) {
			if s.has(set, call) {
				allowed = !removes
			}
		}
	}
	return allowed || s.has("@default", call)
}

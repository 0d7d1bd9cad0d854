//go:build linux

package docstest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"ulnet/lnd/lndtest/netlab"
)

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// wrap fills the directory that is the PATH of a stage's shell with the commands of this
// repository, and with replacements for sudo, for a command that shows a log, and for a command
// that shows a growing file.
func wrap(t *testing.T, bin, work string) {
	t.Helper()
	dir := filepath.Join(work, "bin")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	scripts := map[string]string{
		"sudo":   "#!/bin/sh\nexec \"$@\"\n",
		"logger": "#!/bin/sh\necho \"$@\"\n",
		"tail":   "#!/bin/sh\ntimeout 0.5 /usr/bin/tail \"$@\" || [ $? = 124 ]\n",
	}
	for _, name := range []string{"lnetd", "lnetsim"} {
		scripts[name] = "#!/bin/sh\nexec " + filepath.Join(bin, name) + " \"$@\"\n"
	}
	scripts["lnetdump"] = "#!/bin/bash\nset -o pipefail\n" + filepath.Join(bin, "lnetdump") + " \"$@\" | tee /dev/stderr | grep . > /dev/null\n"
	for _, name := range []string{"lnetctl", "lctl", "lst", "gossipctl", "scollctl"} {
		scripts[name] = fmt.Sprintf(wrapper, filepath.Join(bin, name))
	}
	scripts["ulnet-lnetctl"], scripts["ulnet-lctl"], scripts["ulnet-lst"] = scripts["lnetctl"], scripts["lctl"], scripts["lst"]
	for name, text := range scripts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
}

// names returns the names of the hosts of a stage.
func (s stage) names() string {
	var list []string
	for _, m := range s.hosts {
		list = append(list, m.name)
	}
	return strings.Join(list, " ")
}

// start creates the hosts of a stage and starts their daemons.
func (s stage) start(t *testing.T, bin, work string) []*netlab.Host {
	t.Helper()
	write(t, filepath.Join(work, "key"), strings.Repeat("0123456789abcdef", 4)+"\n"+strings.Repeat("fedcba9876543210", 4)+"\n")
	lab := netlab.New(t)
	hub := lab.Switch("hub")
	var hosts []*netlab.Host
	for _, m := range s.hosts {
		if strings.Contains(m.address, "/") {
			hosts = append(hosts, lab.Host(m.name))
			lab.Cable(hosts[len(hosts)-1], m.address, hub, "")
		} else if len(hosts) == 0 {
			hosts = append(hosts, lab.Host(m.name))
		}
		m.start(t, hosts[len(hosts)-1], bin, work)
	}
	for _, m := range s.hosts {
		m.await(t, work)
	}
	return hosts
}

// start prepares the directory of a host, and starts its daemon.
func (m member) start(t *testing.T, host *netlab.Host, bin, work string) {
	t.Helper()
	dir := filepath.Join(work, m.name)
	for _, sub := range []string{"run", "state"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(work, "bin"), filepath.Join(dir, "bin")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"gossip", "membership"} {
		if err := os.CopyFS(filepath.Join(dir, "docs", name), os.DirFS(filepath.Join(root, "docs", name))); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"file", "site.tar", "log"} {
		write(t, filepath.Join(dir, name), strings.Repeat("What a document's reader has.\n", 1000))
	}
	if m.networks == "" {
		return
	}
	config := filepath.Join(dir, "lnetd.yaml")
	write(t, config, strings.ReplaceAll(m.config, "KEY", filepath.Join(work, "key")))
	cmd := exec.Command(filepath.Join(bin, "lnetd"), append([]string{"--config", config, "--networks", m.networks}, m.args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "RUNTIME_DIRECTORY="+filepath.Join(dir, "run"), "STATE_DIRECTORY="+filepath.Join(dir, "state"), raceOptions)
	log, err := os.Create(m.log(work))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	process := host.Start(cmd)
	write(t, filepath.Join(dir, "pid"), strconv.Itoa(cmd.Process.Pid))
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = process.Wait() // returns an error, because the test has killed the process
		if t.Failed() {
			text, _ := os.ReadFile(m.log(work)) // an error does not matter: the text is only logged
			t.Logf("%s:\n%s", m.name, text)
		}
	})
}

// log returns the name of the file with what the daemon says.
func (m member) log(work string) string { return filepath.Join(work, m.name+".log") }

// await waits until a daemon is ready: its control socket is there earlier than its NIs.
func (m member) await(t *testing.T, work string) {
	t.Helper()
	if m.networks == "" {
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		text, err := os.ReadFile(m.log(work))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "lnetd ready: ") {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("lnetd of %s is not ready:\n%s", m.name, text)
		}
	}
}

// named matches a scenario file in the directory of a command.
var named = regexp.MustCompile(`\b[\w-]+\.sim\b`)

// files writes the files that a block reads and whose contents earlier blocks show: a scenario, under the name that
// the block uses, and the batch of events for a handler.
func files(t *testing.T, dir string, b block, before []block) {
	t.Helper()
	for _, old := range before {
		switch old.language {
		case "scenario":
			if name := named.FindString(b.text); !strings.Contains(b.text, "docs/") && name != "" {
				write(t, filepath.Join(dir, name), old.text)
			}
		case "json":
			write(t, filepath.Join(dir, "batch.json"), old.text)
		}
	}
}

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// mpiAgent is the script that mpirun uses in place of rsh. It starts a daemon on the host that
// its first argument names, and gives the daemon that name as its host name.
const mpiAgent = `#!/bin/sh
host=$1
shift
exec nsenter --net="%s/$host" unshare --uts sh -c 'hostname "$0" && eval "$*"' "$host" "$@"
`

// mpiHosts runs Open MPI over the hosts of a lab.
type mpiHosts struct {
	openMPI
	lab    *castLab
	folder string
}

// newMPIHosts writes the files that mpirun needs. The script mpiAgent enters the namespaces of the
// processes in c, which run on the hosts of the lab.
func newMPIHosts(mpi openMPI, l *castLab, c *castProcesses) *mpiHosts {
	m := &mpiHosts{openMPI: mpi, lab: l}
	if mpi.missing != "" {
		return m
	}
	for _, tool := range []string{"nsenter", "unshare", "hostname"} {
		if _, err := exec.LookPath(tool); err != nil {
			m.openMPI = openMPI{&compiled{missing: tool + " is not installed"}}
			return m
		}
	}
	m.folder = filepath.Join(mpi.compiled.folder, "hosts-"+strconv.Itoa(len(c.Crew)))
	succeed(os.MkdirAll(m.folder, 0o700))
	var names, slots strings.Builder
	fmt.Fprintln(&names, "127.0.0.1 localhost")
	for i, member := range c.Crew {
		fmt.Fprintf(&names, "%v %s\n", l.addrs[i], mpiName(i))
		fmt.Fprintf(&slots, "%s slots=1\n", mpiName(i))
		succeed(os.Symlink(fmt.Sprintf("/proc/%d/ns/net", member.PID()), filepath.Join(m.folder, mpiName(i))))
	}
	for name, text := range map[string]string{"hosts": names.String(), "slots": slots.String(), "agent": fmt.Sprintf(mpiAgent, m.folder)} {
		succeed(os.WriteFile(filepath.Join(m.folder, name), []byte(text), 0o700))
	}
	return m
}

func mpiName(i int) string { return "cast" + strconv.Itoa(i) }

// contender returns a contender that starts the program anew in each round, because its idle
// processes poll and would take CPU time from the other contenders. Without a barrier, a
// broadcast ends when rank 0 has sent.
func (m *mpiHosts) contender(ctx context.Context, name string, nodes int, o casterOrder, barrier bool) *contender {
	return &contender{name: name, run: func(*contender) (latencies, error) {
		return m.run(ctx, nodes, o, barrier)
	}}
}

func (m *mpiHosts) run(ctx context.Context, nodes int, o casterOrder, barrier bool) (latencies, error) {
	const network = "10.79.0.0/24"
	args := []string{
		"--mount", "--uts", "sh", "-c", `mount --bind "$0/hosts" /etc/hosts && hostname ` + mpiName(0) + ` && exec "$@"`, m.folder,
		"mpirun", "-np", strconv.Itoa(nodes), "--hostfile", filepath.Join(m.folder, "slots"), "--map-by", "node", "--bind-to", "none",
		"--mca", "plm_rsh_agent", filepath.Join(m.folder, "agent"), "--mca", "pml", "ob1", "--mca", "btl", "tcp,self",
		"--mca", "btl_tcp_if_include", network, "--mca", "oob_tcp_if_include", network, "--mca", "mpi_yield_when_idle", "1",
		m.path, strconv.Itoa(o.Bytes), strconv.Itoa(o.Warm), strconv.Itoa(o.Count),
	}
	if !barrier {
		args = append(args, "alone")
	}
	within := func(cmd *exec.Cmd) error { return m.lab.hosts[0].Do(cmd.Start) }
	return runMPI(ctx, within, o.Count, "unshare", args...)
}

package main

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

//go:embed testdata/bcast_barrier.c
var bcastBarrier []byte

// openMPI is the program that uses Open MPI. Goal G-SC-2 compares collectives with it.
type openMPI struct{ *compiled }

func compileMPI(ctx context.Context) (openMPI, error) {
	r := recipe{
		tool: "mpicc", before: []string{"-O2"}, after: []string{"bcast_barrier.c"}, packages: "openmpi-bin, libopenmpi-dev",
		source: "bcast_barrier.c", text: bcastBarrier,
	}
	if version, err := exec.CommandContext(ctx, "mpirun", "--version").Output(); err != nil || !bytes.Contains(version, []byte("Open MPI")) {
		return openMPI{&compiled{missing: "mpirun is not Open MPI's: " + r.packages}}, nil
	}
	c, err := r.compile(ctx)
	return openMPI{c}, err
}

// mpiTimeout bounds the time of a run of Open MPI, including its start.
const mpiTimeout = 2 * time.Minute

// run starts new processes for each round, because idle processes of Open MPI poll, and would
// take CPU time from the other contenders.
func (m openMPI) run(ctx context.Context, nodes int, r collectiveRun) (latencies, error) {
	return runMPI(ctx, (*exec.Cmd).Start, r.Count,
		"mpirun", "--oversubscribe", "-np", strconv.Itoa(nodes), "--mca", "plm", "isolated",
		"--mca", "pml", "ob1", "--mca", "btl", "self,tcp", "--mca", "btl_tcp_if_include", "lo",
		"--mca", "oob_tcp_if_include", "lo", "--mca", "mpi_yield_when_idle", "1",
		m.path, strconv.Itoa(r.Bytes), strconv.Itoa(r.Warm), strconv.Itoa(r.Count),
	)
}

// runMPI runs a command that prints as many times as count says, and returns them.
func runMPI(ctx context.Context, start func(*exec.Cmd) error, count int, name string, args ...string) (latencies, error) {
	ctx, cancel := context.WithTimeout(ctx, mpiTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // if mpirun is interrupted, it ends its processes
	cmd.WaitDelay = 5 * time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := start(cmd); err != nil {
		return nil, err
	}
	if err := cmd.Wait(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, strings.TrimSpace(stderr.String()))
	}
	return parseTimes(stdout.String(), count)
}

// parseTimes parses the output of the program. It consists of as many times in nanoseconds as
// count says.
func parseTimes(out string, count int) (took latencies, err error) {
	for text := range strings.FieldsSeq(out) {
		ns, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("not a time: %q", text)
		}
		took = append(took, ns)
	}
	if len(took) != count {
		return nil, fmt.Errorf("%d times instead of %d", len(took), count)
	}
	return took, nil
}

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

// openMPI is the program that G-SC-2 is compared with.
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

// mpiTimeout bounds a run of Open MPI, its start included.
const mpiTimeout = 2 * time.Minute

// run starts new processes for each round, because idle ones poll and would take CPU time from
// the others.
func (m openMPI) run(ctx context.Context, nodes int, r collectiveRun) (latencies, error) {
	return runMPI(ctx, (*exec.Cmd).Start, r.Count,
		"mpirun", "--oversubscribe", "-np", strconv.Itoa(nodes), "--mca", "plm", "isolated",
		"--mca", "pml", "ob1", "--mca", "btl", "self,tcp", "--mca", "btl_tcp_if_include", "lo",
		"--mca", "oob_tcp_if_include", "lo", "--mca", "mpi_yield_when_idle", "1",
		m.path, strconv.Itoa(r.Bytes), strconv.Itoa(r.Warm), strconv.Itoa(r.Count),
	)
}

// runMPI runs a command that prints count times.
func runMPI(ctx context.Context, start func(*exec.Cmd) error, count int, name string, args ...string) (latencies, error) {
	ctx, cancel := context.WithTimeout(ctx, mpiTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // an interrupted mpirun ends its processes
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

// parseTimes parses the output of the program: count times in nanoseconds.
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

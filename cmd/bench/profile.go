package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"runtime/pprof"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/google/pprof/profile"

	"ulnet/cmd/bench/worker"
)

// layer is the CPU time that a package of this project took, including the functions of other
// packages that it called.
type layer struct {
	user   int64 // nanoseconds in Go code
	kernel int64 // nanoseconds in system calls
}

// layers is the CPU time that one process spent in each package.
type layers map[string]layer

// spectrum is the CPU time of both processes while a contender ran.
type spectrum struct {
	ops  int // number of operations in all rounds
	here layers
	peer layers
}

// profiler collects the CPU profiles of contenders if --profile is given. A nil profiler does
// nothing.
type profiler struct{ of map[string]*spectrum }

// startProfile and stopProfile carry out orders in the other process. The second one returns a
// profile.
func startProfile(buffer *bytes.Buffer) func(struct{}) (struct{}, error) {
	return func(struct{}) (struct{}, error) {
		buffer.Reset()
		return struct{}{}, pprof.StartCPUProfile(buffer)
	}
}

func stopProfile(buffer *bytes.Buffer) func(struct{}) ([]byte, error) {
	return func(struct{}) ([]byte, error) {
		pprof.StopCPUProfile()
		return buffer.Bytes(), nil
	}
}

// profiledTime is the CPU time of a round under the profiler. A profile has a hundred samples for
// each second of it.
const profiledTime = 200 * time.Millisecond

// during runs a round of a contender. The function run performs ops operations, and returns the
// CPU time of both processes. Under the profiler, the round is repeated until they have spent
// profiledTime.
func (p *profiler) during(peer *worker.Process, name string, ops int, run func() (time.Duration, error)) error {
	if p == nil {
		_, err := run()
		return err
	}
	if _, err := worker.Ask[struct{}](peer, "start profile", nil); err != nil {
		return err
	}
	var own bytes.Buffer
	if err := pprof.StartCPUProfile(&own); err != nil {
		return err
	}
	var spent time.Duration
	var failed error
	runs := 0
	for ; spent < profiledTime && failed == nil; runs++ {
		var one time.Duration
		one, failed = run()
		spent += one
	}
	pprof.StopCPUProfile()
	theirs, err := worker.Ask[[]byte](peer, "stop profile", nil)
	if err = cmp.Or(failed, err); err != nil {
		return err
	}
	s := p.of[name]
	if s == nil {
		s = &spectrum{here: layers{}, peer: layers{}}
		p.of[name] = s
	}
	s.ops += ops * runs
	return cmp.Or(s.here.add(own.Bytes()), s.peer.add(theirs))
}

// add adds the samples of a profile. Each one counts for the innermost function of this project.
func (l layers) add(raw []byte) error {
	p, err := profile.ParseData(raw)
	if err != nil {
		return err
	}
	for _, s := range p.Sample {
		name, kernel := "Go runtime", false
		for i, at := range s.Location {
			function := at.Line[0].Function.Name
			kernel = kernel || i == 0 && strings.Contains(function, "Syscall")
			if pkg, ours := packageOf(function); ours {
				name = pkg
				break
			}
		}
		sum := l[name]
		if kernel {
			sum.kernel += s.Value[len(s.Value)-1]
		} else {
			sum.user += s.Value[len(s.Value)-1]
		}
		l[name] = sum
	}
	return nil
}

// packageOf returns the package of a function, and whether it is one of this project.
func packageOf(function string) (name string, ours bool) {
	function, _, _ = strings.Cut(function, "[") // this removes the type arguments
	folder, last := "", function
	if i := strings.LastIndexByte(function, '/'); i >= 0 {
		folder, last = function[:i+1], function[i+1:]
	}
	last, _, _ = strings.Cut(last, ".")
	name = folder + last
	return strings.TrimPrefix(name, "ulnet/"), strings.HasPrefix(name, "ulnet/") || name == "main"
}

// print writes the nanoseconds per operation of each contender by package, and forgets them.
func (p *profiler) print(w io.Writer) error {
	if p == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(p.of)) {
		s := p.of[name]
		fmt.Fprintf(w, "\n%s: CPU time per operation in ns, Go code and system calls\n", name)
		out := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(out, "here\tcalls\tother side\tcalls\t  package\t")
		all := layers{}
		maps.Copy(all, s.here)
		maps.Copy(all, s.peer)
		sum := func(name string) int64 {
			a, b := s.here[name], s.peer[name]
			return a.user + a.kernel + b.user + b.kernel
		}
		packages := slices.SortedFunc(maps.Keys(all), func(a, b string) int { return cmp.Or(cmp.Compare(sum(b), sum(a)), cmp.Compare(a, b)) })
		per := func(ns int64) float64 { return float64(ns) / float64(s.ops) }
		for _, pkg := range packages {
			a, b := s.here[pkg], s.peer[pkg]
			fmt.Fprintf(out, "%.1f\t%.1f\t%.1f\t%.1f\t  %s\t\n", per(a.user), per(a.kernel), per(b.user), per(b.kernel), pkg)
		}
		if err := out.Flush(); err != nil {
			return err
		}
	}
	clear(p.of)
	return nil
}

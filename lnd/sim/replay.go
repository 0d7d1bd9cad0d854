package sim

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"ulnet/lnet/machine"
	"ulnet/lnet/machine/record"
)

// Replayed says how much was replayed.
type Replayed struct {
	Steps     uint64 // number of steps of all programs
	Digest    uint64 // Network.Digest after that number of steps
	Truncated bool   // the recording ends without Close
}

// Replay steps programs with recorded inputs, without a network. boot gets the
// configuration in the recording and returns a function that makes programs as
// Config.Boot of the recorded run did; hash is Config.Hash of that run, or nil. The error
// is a [*ReplayError] if a program answers otherwise than recorded, and a
// [*ContractError] if one panics. The recording need not be trusted.
func Replay[M any](r io.Reader, codec Codec[M], hash func(*M) uint64,
	boot func(config []byte) (func(Incarnation, Program[M]) Program[M], error),
) (done Replayed, err error) {
	p := replayer[M]{hash: hash, index: make(map[NodeID]int32)}
	defer p.caught(&done, &err)
	res, err := record.Replay(r, turns[M]{codec}, func(b record.Boot) (machine.Machine[turn[M], answer[M]], error) {
		var err error
		if p.make == nil {
			p.make, err = boot(b.Config)
		}
		if err == nil && b.ID != allPrograms {
			err = p.boot(b)
		}
		return &p, err
	})
	if p.bad != nil {
		err = p.bad
	}
	if d, ok := errors.AsType[*record.DiffError](err); ok {
		l := p.incarnations[p.last]
		err = &ReplayError{l.Node, l.Number, d}
	}
	return Replayed{res.Steps, uint64(p.digest), res.Truncated}, err
}

// ReplayError says that a program did not answer as recorded.
type ReplayError struct {
	Node        NodeID // node whose program answered differently
	Incarnation uint64 // number of the node's incarnation, from 0
	// Diff has the step, the virtual time as Now, and both answers; its ID and
	// Incarnation mean nothing.
	Diff *record.DiffError
}

func (e *ReplayError) Error() string {
	d := e.Diff
	what := "no panic, unlike recorded"
	if !d.Panicked {
		what = fmt.Sprintf("answer from byte %d is %.32x, recorded %.32x", d.At, d.Out[d.At:], d.WantOut[d.At:])
	}
	return fmt.Sprintf("step %d, node %v in incarnation %d at %v: %s", d.Step, e.Node, e.Incarnation, d.Now, what)
}

// Unwrap returns the error in Diff.
func (e *ReplayError) Unwrap() error { return e.Diff }

// replayer is a machine that plays the recorded programs of all nodes.
type replayer[M any] struct {
	make  func(Incarnation, Program[M]) Program[M]
	hash  func(*M) uint64
	index map[NodeID]int32
	// Slices with an entry for each node, at the index that the map index has for the node. Steps
	// use them because a map would be slow.
	programs     []Program[M]
	nodes        []NodeID
	incarnations []Incarnation
	last         int32 // index of the node of the latest step
	digest       digest
	bad          error

	steps    uint64
	step     Step // the step in progress
	stepping bool
}

// boot begins an incarnation that was recorded.
func (p *replayer[M]) boot(b record.Boot) error {
	incarnation, keep, err := parseIncarnation(b)
	if err != nil {
		return err
	}
	i, again := p.index[incarnation.Node]
	if !again {
		i = int32(len(p.incarnations))
		p.index[incarnation.Node] = i
		p.programs = append(p.programs, nil)
		p.nodes = append(p.nodes, incarnation.Node)
		p.incarnations = append(p.incarnations, Incarnation{})
	}
	var kept Program[M]
	if keep {
		kept = p.programs[i]
	}
	p.incarnations[i], p.programs[i] = incarnation, p.make(incarnation, kept)
	if p.programs[i] == nil {
		return errNoProgram
	}
	p.digest.boot(incarnation)
	return nil
}

var errNoSimulation = errors.New("sim: recording is not of a simulation")

func parseIncarnation(b record.Boot) (l Incarnation, keep bool, err error) {
	if len(b.Kept) < 10 || b.Kept[8] > 1 || b.ID >= math.MaxInt32 {
		return l, false, errNoSimulation
	}
	now, _ := binary.Varint(b.Kept[9:])
	l = Incarnation{Node: NodeID(b.ID), Number: b.Incarnation, Seed: binary.LittleEndian.Uint64(b.Kept), Now: time.Duration(now)}
	return l, b.Kept[8] == 1, nil
}

// Step steps the program of the recorded node.
func (p *replayer[M]) Step(at time.Duration, in turn[M], out *answer[M]) time.Duration {
	if p.last = in.index - 1; p.last < 0 || int(p.last) >= len(p.programs) {
		p.last, p.bad = 0, errNoSimulation
		return machine.Never
	}
	now := at + in.skew
	l := &p.incarnations[p.last]
	p.steps++
	p.step = Step{Number: p.steps, Node: l.Node, Incarnation: l.Number, At: at, Now: now, Kind: in.Kind, From: in.From, Digest: uint64(p.digest)}
	p.stepping = true
	out.wake = p.programs[p.last].Step(now, in.Input, &out.Output)
	p.stepping = false
	digestStep(&p.digest, p.nodes[p.last], now, out.wake, &in.Input, &out.Output, p.hash)
	return machine.Never
}

// caught recovers a panic of a program and ends the replay with an error, as Network.caught does.
func (p *replayer[M]) caught(done *Replayed, err *error) {
	if !p.stepping {
		return
	}
	if v := recover(); v != nil {
		*done = Replayed{Steps: p.steps - 1, Digest: uint64(p.digest)}
		*err = panicked(p.step, v)
	}
}

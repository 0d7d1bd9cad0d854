package scenario

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// Replayed is the result of a replay: the run was the same up to Virtual.
type Replayed struct {
	File  *File  // the scenario in the recording
	Nodes int    // number of nodes in the recorded run
	Seed  uint64 // seed of the recorded run
	Level Level  // level of the recorded run
	// Machines says which kind of replay this was: true if the machines alone were stepped with
	// their recorded inputs, false if the whole run was made again and its digests compared.
	Machines  bool
	Steps     uint64        // number of steps that were compared
	Digest    uint64        // digest after the compared steps
	Virtual   time.Duration // virtual time that was compared
	Wall      time.Duration // real time that the replay took
	Truncated bool          // the recording ends before the run did
}

// DiffError says that a repeated run had another digest than the recorded one.
type DiffError struct {
	After, Before time.Duration // virtual times between which the run began to differ
	Digest, Want  uint64        // digest at Before, and the recorded one
}

func (e *DiffError) Error() string {
	return fmt.Sprintf("the run differs from its recording between %s and %s: digest %016x instead of %016x",
		formatTime(e.After), formatTime(e.Before), e.Digest, e.Want)
}

// Replay repeats a recorded run of one of the protocols and compares. A
// difference is an error: a *DiffError, or what the protocol's Replay returns.
func Replay(ctx context.Context, r io.Reader, protocols []*Protocol, memoryLimit int64) (*Replayed, error) {
	p, h, err := newPlayback(r)
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = ErrRecording
		}
		return nil, err
	}
	f, err := Parse(h.Name, []byte(h.Text), protocols)
	if err != nil {
		return nil, err
	}
	level, ok := ParseLevel(h.Level)
	if !ok {
		return nil, ErrRecording
	}
	begun := time.Now()
	done := &Replayed{File: f, Nodes: h.Nodes, Seed: h.Seed, Level: level}
	o := Options{Nodes: h.Nodes, Seed: &h.Seed, Level: level, MemoryLimit: memoryLimit, SampleEvery: -1}
	if h.Inputs && f.Protocol.Replay != nil {
		err = replayMachines(done, f, o, p)
	} else {
		err = again(ctx, done, f, o, p)
	}
	done.Wall = time.Since(begun)
	return done, err
}

// replayMachines steps new machines with the recorded inputs.
func replayMachines(done *Replayed, f *File, o Options, p *playback) error {
	if err := f.fits(&o); err != nil {
		return err
	}
	setup, err := f.setup(o.Nodes, *o.Seed, o.Level)
	if err != nil {
		return err
	}
	done.Machines = true
	res, err := f.Protocol.Replay(setup, p)
	done.Steps, done.Digest, done.Truncated = res.Steps, res.Digest, res.Truncated
	if err != nil {
		return err
	}
	for err == nil {
		_, _, err = p.checkpoint()
	}
	if !errors.Is(err, io.EOF) {
		return err
	}
	done.Virtual = p.at
	if done.Truncated = done.Truncated || !p.ended; !done.Truncated && res.Digest != p.digest {
		return &DiffError{0, p.at, res.Digest, p.digest}
	}
	return nil
}

// again makes a run again and compares its digests with the recorded ones.
func again(ctx context.Context, done *Replayed, f *File, o Options, p *playback) error {
	r, err := newRunner(f, o)
	if err != nil {
		return err
	}
	for {
		at, want, err := p.checkpoint()
		if errors.Is(err, io.EOF) {
			done.Truncated = !p.ended
			return nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err == nil && (at < done.Virtual || at > f.Length) {
			err = ErrRecording
		}
		if err == nil {
			err = r.inst.Run(at)
		}
		if err != nil {
			return err
		}
		digest := r.inst.Digest()
		if digest != want {
			return &DiffError{done.Virtual, at, digest, want}
		}
		done.Virtual, done.Digest, done.Steps = at, digest, r.inst.Stats().Steps
	}
}

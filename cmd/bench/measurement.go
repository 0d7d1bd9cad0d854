package main

import (
	"cmp"
	"context"

	"ulnet/cmd/bench/worker"
)

// measurement is a goal that is being measured, with the settings of bench and the lines so far.
// As with testing.B, the first error ends it. The functions must and check end it by a panic,
// from which caught recovers. So do the functions that make a worker ready.
type measurement struct {
	*bench
	ctx   context.Context // context of this measurement
	lines []line
}

// failure is the value of the panic that ends a measurement.
type failure struct{ err error }

// measure runs a function that measures, and returns its lines, or the error that ended it.
func (b *bench) measure(ctx context.Context, f func(*measurement)) ([]line, error) {
	m := &measurement{bench: b, ctx: ctx}
	if err := caught(func() { f(m) }); err != nil {
		return nil, err
	}
	return m.lines, nil
}

// caught calls a function, and returns the error by which must or check has ended it, or nil.
func caught(f func()) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			failed, ours := reason.(failure)
			if !ours {
				panic(reason)
			}
			err = failed.err
		}
	}()
	f()
	return nil
}

// returning makes a function that must may end into one that returns the error.
func returning[A, R any](f func(A) R) func(A) (R, error) {
	return func(a A) (r R, err error) {
		err = caught(func() { r = f(a) })
		return r, err
	}
}

// serve starts a worker for the time of the measurement, and waits until it is ready. If within
// is not nil, that function starts it, for example in a network namespace.
func (m *measurement) serve(kind string, params any, within func(func() error) error) *worker.Process {
	p := m.begin(worker.Config{Kind: kind, Params: params, Within: within})
	must(worker.Ready[struct{}](p))
	return p
}

// begin starts a worker for the time of the measurement.
func (m *measurement) begin(cfg worker.Config) *worker.Process {
	p := must(m.start(m.ctx, cfg))
	m.ends = append(m.ends, func() { _ = p.Stop() }) // the exit status does not matter here
	return p
}

// add adds lines to the result.
func (m *measurement) add(lines ...line) { m.lines = append(m.lines, lines...) }

// check ends the measurement if err is not nil, or if the time of the measurement is over.
func (m *measurement) check(err error) {
	if err = cmp.Or(err, m.ctx.Err()); err != nil {
		panic(failure{err})
	}
}

// succeed ends the measurement if err is not nil. It is for functions that have no *measurement
// whose method check they could call.
func succeed(err error) { must(0, err) }

// must returns v, or ends the measurement if err is not nil.
func must[T any](v T, err error) T {
	if err != nil {
		panic(failure{err})
	}
	return v
}

// must2 is must for two values and an error.
func must2[T, U any](v T, u U, err error) (T, U) { return must(v, err), u }

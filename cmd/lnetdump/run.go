package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"ulnet/cmd/internal/cli"
	"ulnet/lnd/capture"
)

// printer shows records.
type printer interface {
	record(*capture.Record)
	// begin says which file follows, of several.
	begin(file string)
}

// session is one run of the command.
type session struct {
	options
	filter *filter
	out    *bufio.Writer
	stderr io.Writer
	print  printer // nil prints nothing
	stats  *stats  // nil without --stats
	save   *saver  // nil without -w
}

func (o *options) run(ctx context.Context, env cli.Env) (err error) {
	sources, err := o.sources(env)
	if err != nil {
		return err
	}
	s := &session{options: *o, out: bufio.NewWriterSize(env.Stdout, 1<<16), stderr: env.Stderr}
	if s.filter, err = newFilter(o); err != nil {
		return err
	}
	switch {
	case o.stats:
		s.stats = newStats()
	case o.write != "":
	case o.json:
		s.print = newJSONPrinter(s.out, o.verbose)
	default:
		s.print = &textPrinter{w: s.out, verbose: o.verbose}
	}
	if o.write != "" {
		if s.save, err = newSaver(o.write, s.out); err != nil {
			return err
		}
	}
	err = s.readAll(ctx, sources)
	if s.stats != nil {
		err = errors.Join(err, s.stats.print(s.out, o.json))
	}
	if s.save != nil {
		err = errors.Join(err, s.save.close())
	}
	return errors.Join(err, s.out.Flush())
}

// readAll reads one source after the other. A damaged one does not keep the
// next from being read.
func (s *session) readAll(ctx context.Context, sources []source) error {
	var failed []error
	for _, src := range sources {
		if len(sources) > 1 && s.print != nil {
			s.print.begin(src.name)
		}
		if err := s.read(ctx, src); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", src.name, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(failed...)
}

// read dissects one source to its end, or until ctx ends.
func (s *session) read(ctx context.Context, src source) error {
	in, err := src.open(ctx)
	if err != nil {
		return err
	}
	defer in.Close()
	ports := make([]uint16, len(s.ports))
	for i, p := range s.ports {
		ports[i] = uint16(p)
	}
	s.filter.reset()
	d := capture.NewDissector(capture.Options{Ports: ports}, s.record)
	for {
		var p capture.Packet
		if p, err = in.Next(); err != nil {
			break
		}
		if d.Packet(p.Time, p.Link, p.Data) && s.save != nil {
			err = s.save.packet(p)
		}
		if err == nil && src.live {
			err = s.out.Flush()
		}
		if err != nil {
			break
		}
	}
	d.Close()
	if s.stats != nil {
		s.stats.packets(d.Counts())
	}
	s.remark(src, in, d.Counts())
	if err == io.EOF || ctx.Err() != nil {
		return nil
	}
	return err
}

// record takes the next record of a dissector.
func (s *session) record(r *capture.Record) {
	if !s.filter.match(r) {
		return
	}
	if s.stats != nil {
		s.stats.record(r)
	}
	if s.print != nil {
		s.print.record(r)
	}
}

// remark says on stderr what the numbers of packets tell.
func (s *session) remark(src source, in packets, c capture.Counts) {
	say := func(n uint64, what string) {
		if n > 0 {
			fmt.Fprintf(s.stderr, "%s: %d %s\n", src.name, n, what)
		}
	}
	if l, ok := in.(interface{ Dropped() uint64 }); ok {
		say(l.Dropped(), "packets dropped by the kernel")
	}
	say(c.Truncated, "packets are cut: capture with a larger snapshot length")
	say(c.Fragments, "IP fragments not put together")
	say(c.Malformed, "packets with headers that cannot be read")
	say(c.Evicted, "connections given up because too many were open")
	say(c.Broken, "connections given up in disorder")
}

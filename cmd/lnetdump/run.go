package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/dissection"
	"ulnet/lnd/capture"
	"ulnet/scoll"
)

// dump is one run of the command.
type dump struct {
	options
	filter  *dissection.Filter
	known   *dissection.Protocols // dissectors for the source that is being read
	members *scoll.Membership     // list given by --members; nil without that option
	out     *bufio.Writer
	stderr  io.Writer
	print   dissection.Printer // prints the records; nil: records are not printed
	stats   *stats             // statistics of the option --stats; nil without it
	analyze *analysis          // analysis of the option --analyze; nil without it
	save    *saver             // writer of the option -w; nil without it
}

func (o *options) run(ctx context.Context, env cli.Env) error {
	sources, err := o.sources(env)
	if err != nil {
		return err
	}
	d, err := newDump(o, env)
	if err != nil {
		return err
	}
	err = d.readAll(ctx, sources)
	if d.stats != nil {
		err = errors.Join(err, d.stats.print(d.out, o.json))
	}
	if d.save != nil {
		err = errors.Join(err, d.save.close())
	}
	return errors.Join(err, d.out.Flush())
}

// newDump creates the outputs that the options select.
func newDump(o *options, env cli.Env) (d *dump, err error) {
	d = &dump{options: *o, out: bufio.NewWriterSize(env.Stdout, 1<<16), stderr: env.Stderr}
	if d.filter, err = dissection.NewFilter(dissection.Wanted{NIDs: o.nids, Types: o.types, Portals: o.portals}); err != nil {
		return nil, cli.Usagef("--%w", err)
	}
	if d.members, err = dissection.ParseMembers(o.list); err != nil {
		return nil, cli.Usagef("--members: %w", err)
	}
	if err = cmp.Or(o.needless(), o.overwrites(env.Stdin)); err != nil {
		return nil, err
	}
	switch {
	case o.analysis.on:
		d.analyze, err = newAnalysis(o, env.Stdout)
	case o.stats:
		d.stats = newStats()
	case o.write != "":
	case o.json:
		d.print = dissection.NewJSON(d.out, o.verbose)
	default:
		d.print = dissection.NewText(d.out, o.verbose)
	}
	if err != nil {
		return nil, err
	}
	if o.write != "" {
		d.save, err = newSaver(o.write, d.out)
	}
	return d, cli.Hint(err, "choose a file that can be written with --write")
}

// readAll reads the sources one after the other. After an error in one source it continues with
// the next.
func (d *dump) readAll(ctx context.Context, sources []source) error {
	var failed []error
	for _, src := range sources {
		if len(sources) > 1 && d.print != nil {
			d.print.Begin(src.name)
		}
		if err := d.read(ctx, src); err != nil && !d.wasCut(src, err) {
			failed = append(failed, explain(src.name, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(failed...)
}

// wasCut reports whether a source has ended inside a record, if it is of a kind for which that
// is normal. In that case, wasCut prints a remark: the complete records were read, so this is
// not a failure.
func (d *dump) wasCut(src source, err error) bool {
	damage, ok := errors.AsType[*capture.DamageError](err)
	if !ok || !src.partial || !errors.Is(err, capture.ErrIncomplete) {
		return false
	}
	fmt.Fprintf(d.stderr, "%s: the last record, at byte %d, is incomplete: all before it has been read; "+
		"the capture was cut short, or is still being written\n", src.name, damage.Offset)
	return true
}

// explain adds the name of the source to an error, and a hint.
func explain(name string, err error) error {
	wrapped := fmt.Errorf("%s: %w", name, err)
	switch {
	case cli.HintOf(err) != "":
		return wrapped
	case errors.Is(err, capture.ErrNotCapture):
		return cli.Hint(wrapped, "lnetdump reads what 'tcpdump -w', Wireshark, 'lnetdump -w' and 'lnetd --capture' write")
	case errors.Is(err, capture.ErrIncomplete):
		return cli.Hint(wrapped, "what stands before that place has been read; is the daemon still running?")
	case errors.Is(err, capture.ErrDamaged):
		return cli.Hint(wrapped, "what stands before that place has been read; was the capture copied as text, or overwritten?")
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return cli.Hint(wrapped, "name a capture, - for the standard input, an interface with -i, or --daemon")
	}
	return wrapped
}

// read dissects one source to its end, or until ctx ends.
func (d *dump) read(ctx context.Context, src source) error {
	in, err := src.open(ctx)
	if err != nil {
		return err
	}
	defer in.Close()
	d.filter.Reset()
	d.known = dissection.NewProtocols(d.members)
	dissector, end := d.dissector(src)
	if d.save != nil && src.raw {
		err = errors.Join(d.save.begin(), d.out.Flush())
	}
	for err == nil {
		err = d.packet(dissector, src, in)
	}
	d.analyze.locked(dissector.Close)
	end()
	if d.stats != nil {
		d.stats.packets(dissector.Counts())
	}
	failed := d.analyze.finish(src)
	d.remark(src, in, dissector.Counts())
	if failed != nil || err == io.EOF || ctx.Err() != nil {
		return failed
	}
	return err
}

// dissector returns the dissector of a source, and a function to call when the dissector is closed.
func (d *dump) dissector(src source) (dissector *capture.Dissector, end func()) {
	options := capture.Options{Ports: make([]uint16, len(d.ports))}
	for i, p := range d.ports {
		options.Ports[i] = uint16(p)
	}
	end = func() {}
	if d.analyze != nil {
		options.KeepPayload = analyzedPayload
		end = d.analyze.begin(src)
	}
	return capture.NewDissector(options, d.record), end
}

// packet dissects the next packet.
func (d *dump) packet(dissector *capture.Dissector, src source, in packets) error {
	p, err := in.Next()
	if err != nil {
		return err
	}
	ours := false
	if d.analyze == nil {
		ours = dissector.Packet(p.Time, p.Link, p.Data)
	} else {
		d.analyze.locked(func() { ours = dissector.Packet(p.Time, p.Link, p.Data) })
	}
	if ours && d.save != nil {
		err = d.save.packet(p)
	}
	if err == nil && (src.live || d.follow) {
		err = d.flush()
	}
	return err
}

// flush writes out what was printed and saved so far.
func (d *dump) flush() error {
	if d.save != nil && d.save.ng != nil {
		if err := d.save.ng.Flush(); err != nil {
			return err
		}
	}
	return d.out.Flush()
}

// record filters, counts and prints the next record of the dissector.
func (d *dump) record(r *capture.Record) {
	if d.analyze != nil {
		d.analyze.record(d.filter, r)
		return
	}
	var s dissection.Shown
	if d.print != nil { // before the filter, since records that the filter drops may be needed to explain others
		s = d.known.Read(r)
	}
	if !d.filter.Match(r) {
		return
	}
	if d.stats != nil {
		d.stats.record(r)
	}
	if d.print != nil {
		d.print.Record(&s)
	}
}

// remark reports on stderr packets that were lost, cut or could not be parsed.
func (d *dump) remark(src source, in packets, c capture.Counts) {
	say := func(n uint64, what string) {
		if n > 0 {
			fmt.Fprintf(d.stderr, "%s: %d %s\n", src.name, n, what)
		}
	}
	if l, ok := in.(interface{ Dropped() uint64 }); ok {
		say(l.Dropped(), "packets dropped by the kernel")
	}
	say(c.Truncated, "packets are cut: capture with a larger snapshot length")
	say(c.Copies, "packets are in the capture twice, as when a bond and its ports are captured")
	say(c.Outside, "packets dropped that their receiver cannot have accepted: damaged, or sent by another node")
	say(c.Fragments, "IP fragments not put together")
	say(c.Malformed, "packets with headers that cannot be read, or of an unknown link type")
	say(c.BadICRC, "packets of RoCE are damaged: their ICRC is wrong")
	say(c.Evicted, "connections given up because too many were open")
	say(c.Broken, "connections given up in disorder")
}

package tree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"

	"ulnet/lnet/nid"
)

// Target is a node to which a file can be applied. Errors have an errno.
type Target interface {
	AddNI(ctx context.Context, net string, ni NI) error
	// RemoveNI stops an NI, or the whole network if ni is nil. Warnings are about what was removed, such as messages
	// that could not be sent.
	RemoveNI(ctx context.Context, net string, ni *NI) (warnings []string, err error)
	AddRoute(ctx context.Context, r Route) error
	// AddRouteList adds up to RoutesAtOnce routes, all or none.
	AddRouteList(ctx context.Context, list []Route) error
	RemoveRoute(ctx context.Context, r Route) error
	AddPeer(ctx context.Context, p Peer) error
	RemovePeer(ctx context.Context, p Peer) error
	Set(ctx context.Context, s Setting) error
	// SetTogether changes settings that depend on each other, or numbers of router buffers, all or none.
	SetTogether(ctx context.Context, list []Setting) error
	AddUDSP(ctx context.Context, u UDSP) error
	RemoveUDSP(ctx context.Context, u UDSP) error
	Ping(ctx context.Context, id nid.NID) error
	Discover(ctx context.Context, id nid.NID) error
}

// Verb is the action to perform on the items of a file.
type Verb int

// The verbs of 'lnetctl import'.
const (
	Add  Verb = iota
	Del       // removes the items that the file names
	Exec      // adds items, and pings and discovers nodes
	// AddMissing is Add for a node that starts, or on which LNet is configured again: it does not change items
	// that the node already has, but warns about them. To change NIs, first remove those that Retuned lists.
	AddMissing
)

func (v Verb) String() string {
	if v == Del {
		return "del"
	}
	return "add"
}

// refuses reports whether a section of that key is an error as a whole.
func (v Verb) refuses(key string) bool { return v != Exec && (key == "ping" || key == "discover") }

// Result is what applying a file has done.
type Result struct {
	Done     []Item   // the items that were applied, in the order of the file
	Perhaps  []Item   // items whose request was interrupted: the node may have applied them
	Total    int      // number of items in the file
	Errs     []*Error // errors of items; empty: all items were applied
	Warnings []string // texts about settings that were kept without effect, or ignored
}

// Apply applies the items of a file to a node, section by section. As with Lustre's tool, an
// error ends its section. An error in the section net ends everything, because the other
// sections need the networks. Items before the error stay applied.
func Apply(ctx context.Context, to Target, v Verb, f *File) Result {
	r := Result{Warnings: f.Warnings}
	for _, s := range f.Sections {
		r.Total += len(s.Items)
	}
	for _, s := range f.Sections {
		if ctx.Err() != nil {
			if !r.isInterrupted() && len(s.Items) > 0 && !v.refuses(s.Key) {
				r.Errs = append(r.Errs, r.interrupted(s.Items[0].Line))
			}
			if r.isInterrupted() {
				break
			} // a section that needs no node reports its errors in any case
		}
		begin := len(r.Done)
		failed := r.section(ctx, to, v, s)
		slices.SortStableFunc(r.Done[begin:], func(a, b Item) int { return cmp.Compare(a.Line, b.Line) })
		if failed && s.Key == "net" {
			break
		}
	}
	for _, e := range r.Errs {
		e.Verb = v.String()
	}
	return r
}

// section applies the items of a section and reports whether one failed.
func (r *Result) section(ctx context.Context, to Target, v Verb, s Section) (failed bool) {
	if v.refuses(s.Key) {
		r.Errs = append(r.Errs, inFile(s.Line, syscall.EINVAL, "invalid key '%s'", s.Key))
		return true
	}
	for rest, most := s.Items, RoutesAtOnce; len(rest) > 0; {
		n := 0
		if v != Del {
			n = r.addRoutes(ctx, to, rest, most)
		}
		if n == 0 {
			n = 1
			if !r.isSet(rest[0]) && r.item(ctx, to, v, s.Key, rest) {
				return true
			}
		}
		rest, most = rest[n:], min(2*n, RoutesAtOnce)
	}
	r.Errs = append(r.Errs, s.Errs...)
	return len(s.Errs) > 0
}

// isInterrupted reports whether the result says that the import was interrupted.
func (r *Result) isInterrupted() bool {
	return len(r.Perhaps) > 0 || slices.ContainsFunc(r.Errs, func(e *Error) bool { return e.Errno == syscall.EINTR })
}

// interrupted returns the error of an import that was interrupted at a line.
func (r *Result) interrupted(line int) *Error {
	return inFile(line, syscall.EINTR, "interrupted: %d of %d items were applied", len(r.Done), r.Total)
}

// item applies the first of the remaining items of a section, and reports whether that failed. If the item is
// valid only together with later ones, item applies those as well, see setTogether.
func (r *Result) item(ctx context.Context, to Target, v Verb, key string, rest []Item) (failed bool) {
	i := rest[0]
	if ctx.Err() != nil {
		r.Errs = append(r.Errs, r.interrupted(i.Line))
		return true
	}
	if v != Del {
		r.remark(i)
	}
	errs := r.applyItem(ctx, to, v, key, i)
	if v == AddMissing && len(errs) > 0 && (errs[0].Errno == syscall.EEXIST || errs[0].Errno == syscall.EALREADY) {
		if i.Net == nil {
			r.warn(i, "is there already: %v", errs[0].Cause)
		}
		return false
	}
	items := rest[:1]
	if len(errs) > 0 && v != Del && ctx.Err() == nil {
		items, errs = setTogether(ctx, to, rest, errs)
	}
	if len(errs) > 0 {
		if ctx.Err() != nil {
			r.Perhaps = append(r.Perhaps, items...)
		}
		r.Errs = append(r.Errs, errs...)
		return true
	}
	r.Done = append(r.Done, items...)
	return false
}

// warn notes something about an item that is no error.
func (r *Result) warn(i Item, format string, args ...any) {
	r.Warnings = append(r.Warnings, fmt.Sprintf("line %d: ", i.Line)+fmt.Sprintf(format, args...))
}

// remark warns of settings that are kept without effect.
func (r *Result) remark(i Item) {
	if s := i.Setting; s != nil && s.Name == "numa_range" && s.Value != 0 {
		r.warn(i, "numa_range is kept, without effect")
	}
	if i.Net == nil {
		return
	}
	for _, ni := range i.Net.NIs {
		if ni.CPT != "" && ni.CPT != "[0]" {
			r.warn(i, "CPT %s is kept, without effect", ni.CPT)
		}
		if len(ni.Interfaces) > 1 {
			r.warn(i, "an NI has one interface: %s is ignored", ni.Interfaces[1])
		}
	}
}

// applyItem applies one item.
func (r *Result) applyItem(ctx context.Context, to Target, v Verb, key string, i Item) []*Error {
	switch {
	case i.Net != nil:
		return r.applyNet(ctx, to, v, i)
	case i.Route != nil && v == Del:
		return explain(i, to.RemoveRoute(ctx, *i.Route), "failed to delete route")
	case i.Route != nil:
		return routeErrors(i, to.AddRoute(ctx, *i.Route))
	case i.Peer != nil && v == Del:
		return explain(i, to.RemovePeer(ctx, *i.Peer), "failed to del primary peer")
	case i.Peer != nil && !i.Peer.IsConfigured(): // nothing to do, because the node discovers such a peer by itself
		return nil
	case i.Peer != nil:
		return explain(i, to.AddPeer(ctx, *i.Peer), "failed to add primary peer")
	case i.UDSP != nil && v == Del:
		return explain(i, to.RemoveUDSP(ctx, *i.UDSP), "cannot del udsp")
	case i.UDSP != nil:
		return explain(i, to.AddUDSP(ctx, *i.UDSP), "cannot add udsp")
	case key == "ping":
		return explain(i, to.Ping(ctx, i.Target), "failed to ping "+i.Target.String())
	case key == "discover":
		return explain(i, to.Discover(ctx, i.Target), "failed to discover "+i.Target.String())
	}
	return applySettings(ctx, to, v, i)
}

// applyNet starts or stops an NI. If the file has no NIs of a network, it stops the network.
func (r *Result) applyNet(ctx context.Context, to Target, v Verb, i Item) []*Error {
	net := i.Net.Type
	if net == Loopback { // skipped, as every node has it
		return nil
	}
	fail := func(err error, text string) []*Error {
		if err == nil {
			return nil
		}
		return []*Error{
			{Object: "net", Errno: errnoOf(err), Text: text, Line: i.Line, Cause: err},
			inFile(i.Line, syscall.EINVAL, "Failed to configure NI on net '%s' rc = -22", net),
		}
	}
	if v == Del {
		return fail(r.removeNet(ctx, to, i), "LNet net doesn't exist")
	}
	if len(i.Net.NIs) == 0 {
		return nil
	}
	err := to.AddNI(ctx, net, i.Net.NIs[0])
	if missing, ok := errors.AsType[*NoInterfaceError](err); ok {
		return []*Error{{Object: "import", Errno: syscall.ENOMSG, Text: missing.Error(), Line: i.Line, Cause: missing.Err}}
	}
	return fail(err, "cannot add LNet NI")
}

// removeNet stops an NI, or the network if the file has no NIs of it.
func (r *Result) removeNet(ctx context.Context, to Target, i Item) error {
	var ni *NI
	if len(i.Net.NIs) > 0 {
		ni = &i.Net.NIs[0]
	}
	warnings, err := to.RemoveNI(ctx, i.Net.Type, ni)
	for _, w := range warnings {
		r.warn(i, "removed, but: %s", w)
	}
	return err
}

// NoInterfaceError says that a node has no interface of that name.
type NoInterfaceError struct {
	Name string // name of the interface
	Err  error  // error that the node returned
}

// Error returns the text of Lustre's tool.
func (e *NoInterfaceError) Error() string { return fmt.Sprintf("No interface matching '%s'", e.Name) }

// Unwrap returns the error of the node.
func (e *NoInterfaceError) Unwrap() error { return e.Err }

// routeErrors is explain for the error of a route: its text is the one that Lustre's tool has for the
// errno.
func routeErrors(i Item, err error) []*Error {
	text := "invalid settings for route creation"
	switch errnoOf(err) {
	case syscall.EEXIST:
		text = "Route already exists or the specified network is local"
	case syscall.EHOSTUNREACH:
		text = "No interface configured on the same net as gateway"
	}
	return explain(i, err, text)
}

// explain wraps an error that the node returned, with the text that Lustre's tool prints in that case.
func explain(i Item, err error, text string) []*Error {
	if err == nil {
		return nil
	}
	return []*Error{{Object: "import", Errno: errnoOf(err), Text: text, Line: i.Line, Cause: err}}
}

func errnoOf(err error) syscall.Errno {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno
	}
	return syscall.EINVAL
}

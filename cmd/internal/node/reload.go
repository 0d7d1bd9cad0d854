package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/config/tree"
	"ulnet/lnet/nid"
)

// A Reloader is a module that follows changes of the configuration.
type Reloader interface {
	// Reload replaces the configuration that the module was made with. Only keys of
	// config.AtRunTime have other values.
	Reload(to *config.Config)
}

// errNotTakenBack means that a change was made and could not be taken back.
var errNotTakenBack = errors.New("not taken back")

// hintDamaged is what to do after errNotTakenBack.
const hintDamaged = "the node is not as its configuration says: restart lnetd (systemctl restart lnetd); until then reloads are refused"

// Reload changes the node where the configurations from and to differ, by the operations that the control
// socket has. What does not differ stays as it is, even if a command has changed it since the start. Keys
// are an exception: if a section has other keys in force than those of to, such as those that
// [Node.KeysReload] has set, it gets those of to. Reload returns texts about what it has changed.
//
// If a change fails, Reload takes the earlier ones back. The error names the change that failed, its
// position in the configuration, and changes that could not be taken back. If there are such changes, all
// later reloads are refused with EBUSY.
//
// Reload refuses a file LNetConf whose networks or routes the next start would refuse. It judges by the NIDs that the node
// has now, with large ones and as they are without them, and takes a route whose gateway is on a network with an NI whose NID
// is not known now. The error is that of the start.
//
// While LNet is not configured on the node, Reload does not change networks, peers, rules and routes: the
// new ones take effect when LNet is configured again, and Configure returns their errors.
func (n *Node) Reload(ctx context.Context, from, to *config.Loaded) (done []string, err error) {
	defer n.change()()
	if n.damage != nil {
		return nil, cli.Hint(cli.Errnof(syscall.EBUSY, "an earlier reload failed: %v", n.damage), hintDamaged)
	}
	r := reload{n: n, from: from, to: to}
	if err = r.compare(); err != nil {
		return nil, err
	}
	resolved := to.Config
	if err = resolved.ResolveNetworks(LocalAddresses); err != nil {
		return nil, err
	}
	if done, err = r.run(ctx); err == nil {
		n.current.Store(&resolved)
		n.imported = to.Imported
	}
	if errors.Is(err, errNotTakenBack) {
		n.damage, err = err, cli.Hint(err, hintDamaged)
	}
	return done, err
}

// reload is a reload of the configuration: the changes that it consists of.
type reload struct {
	n         *Node
	from, to  *config.Loaded
	was, will *tree.Tree // what the two configurations want the node to have
	steps     []step
	last      []final
}

// A step is one change.
type step struct {
	key  string // key of the configuration that asks for the change
	what string // what changes, for people
	// do makes the change. It returns lines about the change for people, or none if there was nothing to
	// change, and the function that takes the change back.
	do func(context.Context) (lines []string, undo func(context.Context) error, err error)
}

// A final is a change that cannot fail. It is made when all steps are done, and never taken back: it may end
// something that cannot be restored, such as a session of selftest.
type final struct {
	what string // a line about the change, for people
	do   func()
}

// add adds a step that reports its change in one line. The function do makes the change and returns the
// function that takes it back, or nil if there was nothing to change.
func (r *reload) add(key, what string, do func(context.Context) (func(context.Context) error, error)) {
	r.steps = append(r.steps, step{key, what, func(ctx context.Context) ([]string, func(context.Context) error, error) {
		back, err := do(ctx)
		if back == nil {
			return nil, nil, err
		}
		return []string{what}, back, err
	}})
}

// compare lists the changes.
func (r *reload) compare() (err error) {
	if err = r.wanted(); err != nil {
		return err
	}
	r.settings()
	if !r.n.unconfigured.Load() {
		r.networks()
		r.peers()
		r.rules()
	}
	r.router()
	r.faults(r.from.Faults, r.to.Faults)
	r.keys()
	r.modules()
	return r.handlers()
}

// wanted sets was and will: what the two configurations want the node to have. It leaves out routes whose
// gateway is the node itself, by a NID of a configured NI or of an NI that a command has started. It refuses a file
// LNetConf whose networks or routes cannot be applied, see checkImport.
func (r *reload) wanted() (err error) {
	if r.was, err = wantedTree(r.from); err != nil {
		return err
	}
	if r.will, err = wantedTree(r.to); err != nil {
		return err
	}
	var was, will []nid.NID
	up := !r.n.unconfigured.Load()
	if up {
		was, will = r.n.ownNIDs(r.was), r.n.ownNIDs(r.will)
	}
	others := slices.DeleteFunc(r.n.NIDs(), func(id nid.NID) bool { return slices.Contains(was, id) })
	withoutOwn(r.was, r.from, slices.Concat(others, was))
	withoutOwn(r.will, r.to, slices.Concat(others, will))
	if !up {
		return nil
	}
	return r.checkImport(slices.DeleteFunc(others, func(id nid.NID) bool { return slices.Contains(will, id) }))
}

// run makes all changes, or takes back those that it has made. An NI that it stops and starts again keeps its
// place among the NIs.
func (r *reload) run(ctx context.Context) (done []string, err error) {
	defer r.n.keepOrder(r.n.NIDs()) // the argument is the order before the changes
	var undo []func() error
	for _, s := range r.steps {
		lines, back, err := s.do(ctx)
		if err != nil {
			errs := []error{fmt.Errorf("%s%s: %w", r.position(s.key), s.what, err)}
			for _, back := range slices.Backward(undo) {
				errs = append(errs, back())
			}
			return nil, errors.Join(errs...)
		}
		if len(lines) == 0 {
			continue
		}
		done = append(done, lines...)
		undo = append(undo, func() error { return notTakenBack(s.what, back(ctx)) })
	}
	for _, f := range r.last {
		f.do()
		done = append(done, f.what)
	}
	return done, nil
}

// notTakenBack returns the error for a change that could not be taken back, nil for a nil err.
func notTakenBack(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %s: %w", errNotTakenBack, what, err)
}

// position returns the position of a key in the new configuration, followed by a colon. If only the old
// configuration has the key, it returns the position there.
func (r *reload) position(key string) string {
	from := r.to.From(key)
	if was := r.from.From(key); from == "" && was != "" {
		from = was + " (as it was)"
	}
	if from = cmp.Or(from, r.to.LNetConf); from == "" {
		return ""
	}
	return from + ": "
}

// modules passes the new configuration to each module that is a Reloader, once, if a key that these modules read
// has changed.
func (r *reload) modules() {
	var changed []string
	for _, k := range []struct{ key, was, will string }{
		{"selftest_allow", r.from.SelftestAllow, r.to.SelftestAllow},
		{"metrics_hosts", r.from.MetricsNames, r.to.MetricsNames},
	} {
		if k.was != k.will {
			changed = append(changed, fmt.Sprintf("%s: %q", k.key, k.will))
		}
	}
	if len(changed) == 0 {
		return
	}
	r.last = append(r.last, final{strings.Join(changed, ", "), func() {
		for _, m := range r.n.modules {
			if f, ok := m.(Reloader); ok {
				f.Reload(&r.to.Config)
			}
		}
	}})
}

// keys replaces the keys of the sections whose files have other keys than those in force.
func (r *reload) keys() {
	will := keysOf(&r.to.Config)
	for _, u := range r.n.keys() {
		was := r.n.inForce[u.Section]
		if was.Equal(will[u.Section]) {
			continue
		}
		r.add(u.Section+".key_file", "keys of the section "+u.Section, func(context.Context) (func(context.Context) error, error) {
			return func(context.Context) error { return r.n.setKeys(u, was) }, r.n.setKeys(u, will[u.Section])
		})
	}
}

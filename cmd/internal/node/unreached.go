package node

import (
	"errors"
	"os"
	"slices"
	"syscall"

	"ulnet/cmd/internal/cli"
	"ulnet/lnet/nid"
)

// explainUnreached adds what to look at when a node did not answer, by what
// went wrong.
func (n *Node) explainUnreached(target nid.NID, err error) error {
	port := n.cfg.AcceptPort
	is := func(errnos ...error) bool {
		return slices.ContainsFunc(errnos, func(e error) bool { return errors.Is(err, e) })
	}
	switch {
	case err == nil || cli.HintOf(err) != "" || isEnded(err):
		return err
	case isSimulated(err):
		return explainSimulated(err)
	case is(syscall.ETIMEDOUT, os.ErrDeadlineExceeded) && n.isSpoiled():
		return cli.Hint(err, spoiledHint)
	case !n.isOn(target.Net()):
		return cli.Hint(err, "this node has no interface on %v: see 'lnetctl net show', and --networks", target.Net())
	case target.Net().Type() == nid.O2IB:
		return n.explainUnreachedO2IB(target, err)
	case is(syscall.ECONNREFUSED): // beside an errno of LNet, so before those
		return cli.Hint(err, "does LNet run there, and does it listen on port %d (accept_port)?", port)
	case is(syscall.EACCES, syscall.EPERM):
		return cli.Hint(err, "to dial from a port below 1024, which nodes ask for, takes root or CAP_NET_BIND_SERVICE")
	case is(syscall.EADDRINUSE):
		return cli.Hint(err, "all ports below 1024 are in use: see 'ss -tn'")
	case is(syscall.ECONNRESET, syscall.EPIPE):
		return cli.Hint(err, "it closed the connection: is %v one of its NIDs, and does it accept connections from here (accept, source_address)?", target)
	case is(syscall.ETIMEDOUT, os.ErrDeadlineExceeded):
		return cli.Hint(err, "does it run, and does a firewall let TCP port %d through in both directions?", port)
	case is(syscall.EPROTO):
		return cli.Hint(err, "it answers, but not as a node does: what listens on its port %d?", port)
	}
	return cli.Hint(err, "is its address right, and is there a way to it? see 'ip route get %v'", target.Addr())
}

// isEnded reports whether err says nothing of the network: the node, its
// interface or the caller has ended what was under way.
func isEnded(err error) bool {
	_, ofNetwork := errors.AsType[syscall.Errno](err)
	timedOut := errors.Is(err, os.ErrDeadlineExceeded)
	return !ofNetwork && !timedOut || errors.Is(err, syscall.ESHUTDOWN) || errors.Is(err, syscall.ECANCELED)
}

// isOn reports whether the node has an NI on a net.
func (n *Node) isOn(net nid.Net) bool {
	return slices.ContainsFunc(n.lnet.IDs(), func(id nid.ProcessID) bool { return id.NID.Net() == net })
}

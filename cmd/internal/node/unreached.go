package node

import (
	"errors"
	"os"
	"slices"
	"syscall"

	"ulnet/cmd/internal/cli"
	"ulnet/lnet/nid"
)

// explainUnreached adds a hint to the error of a node that did not answer.
func (n *Node) explainUnreached(target nid.NID, err error) error {
	is := func(errnos ...error) bool {
		return slices.ContainsFunc(errnos, func(e error) bool { return errors.Is(err, e) })
	}
	if is(syscall.ECONNREFUSED) && !isEnded(err) {
		err = cli.Errno(syscall.ECONNREFUSED, err) // so that ECONNREFUSED is the first errno of the error, as in LNet, and not one that means that there is no route
	}
	switch {
	case err == nil || cli.HintOf(err) != "" || isEnded(err):
		return err
	case isSimulated(err):
		return explainSimulated(err)
	case is(syscall.ETIMEDOUT, os.ErrDeadlineExceeded) && n.isSpoiled():
		return cli.Hint(err, spoiledHint)
	case !n.isOn(target.Net()) && slices.Contains(n.lnet.RoutedNets(), target.Net()):
		return cli.Hint(err, "%v is behind gateways: 'lnetctl route show -v' tells which routes are up", target.Net())
	case !n.isOn(target.Net()):
		return cli.Hint(err, "this node has no interface on %v: 'lnetctl net add' starts one, and 'lnetctl route add' names a gateway", target.Net())
	}
	return cli.Hint(err, "%s", n.cfg.Of(target.Net().Type()).HintUnreached(n.cfg.Settings, target, err))
}

// isEnded reports whether err does not come from the network: the node, its interface or
// the caller has ended the operation.
func isEnded(err error) bool {
	_, ofNetwork := errors.AsType[syscall.Errno](err)
	timedOut := errors.Is(err, os.ErrDeadlineExceeded)
	return !ofNetwork && !timedOut || errors.Is(err, syscall.ESHUTDOWN) || errors.Is(err, syscall.ECANCELED)
}

// isOn reports whether the node has an NI on a net.
func (n *Node) isOn(net nid.Net) bool {
	return slices.ContainsFunc(n.lnet.IDs(), func(id nid.ProcessID) bool { return id.NID.Net() == net })
}

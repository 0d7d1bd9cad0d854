package recovery

import "ulnet/lnd"

// Case is what the consequence of a failure depends on.
type Case struct {
	Failure   lnd.Failure // class of the failure
	Received  bool        // the message was arriving; false: it was leaving
	Rails     bool        // this node has two NIs or more beside 0@lo
	PeerRails bool        // the peer has two or more NIs
	Router    bool        // the peer is a router
	Own       bool        // the peer is this node
	Recovery  bool        // the message is a recovery ping, which goes to an NI that is known to fail
	Late      bool        // the message's deadline has passed
}

// Consequence says whose health falls, and whether the message may be sent again. The caller
// counts how many tries are left.
type Consequence struct {
	Local, Remote bool // Local: the health of the local NI falls; Remote: that of the remote NI falls
	Resend        bool // whether the message may be sent again
}

// Judge decides about a message that failed (lnet_health_check). The only NI of a node is not
// blamed, because there is no other to prefer. Routers are blamed even with one NI, because
// their health decides about routes.
func Judge(c Case) Consequence {
	v := consequences[c.Failure%lnd.NumFailures]
	if c.Late {
		return Consequence{}
	}
	v.Resend = v.Resend && !c.Received && !c.Recovery
	switch {
	case v.Local && !v.Remote:
		v.Resend = v.Resend && c.Rails
	case v.Remote && !v.Local:
		v.Resend = v.Resend && c.PeerRails
	}
	v.Local = v.Local && c.Rails && !c.Recovery
	v.Remote = v.Remote && (c.PeerRails || c.Router) && !c.Own && !c.Recovery
	return v
}

// consequences has the consequence of each class of failure, before Judge looks at the
// rest of the case.
var consequences = [lnd.NumFailures]Consequence{
	lnd.LocalInterrupt: {Local: true, Resend: true},
	lnd.LocalDropped:   {Local: true, Resend: true},
	lnd.LocalAborted:   {Local: true, Resend: true},
	lnd.LocalNoRoute:   {Local: true, Resend: true},
	lnd.LocalError:     {Local: true},
	lnd.LocalTimeout:   {Local: true, Resend: true},
	lnd.RemoteError:    {Remote: true},
	lnd.RemoteDropped:  {Remote: true, Resend: true},
	lnd.RemoteTimeout:  {Remote: true},
	lnd.NetworkTimeout: {Local: true, Remote: true},
}

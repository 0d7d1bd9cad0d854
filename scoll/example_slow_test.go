package scoll_test

import (
	"fmt"
	"sync/atomic"

	"ulnet/scoll"
)

// work is a request at one server. Either the server's own work or the answers of its children
// may take longer.
type work struct{ left atomic.Int32 }

func (w *work) prepare(r *scoll.Request) error {
	w.left.Store(2)
	return prepareFor(r, 0)
}

// step is called at the end of IncomingRequest, and in PostReply. The second of these calls
// answers.
func (w *work) step(r *scoll.Request) {
	if w.left.Add(-1) == 0 && !r.Root() {
		_ = r.Reply(nil)
	}
}

// prepareFor posts buffers of a size for the children.
func prepareFor(r *scoll.Request, size int) error {
	for child := range r.Children() {
		if err := r.PostReply(child, make([]byte, size)); err != nil {
			return err
		}
	}
	return nil
}

// The work of this service takes time. The service answers when its work is done and the
// answers of the children are there.
func ExampleRequest_Reply() {
	const service scoll.ServiceID = 101
	servers := newServers(4)
	for _, s := range servers.list {
		err := s.agent.RegisterService(scoll.Service{
			ID: service,
			PreRequest: func(r *scoll.Request) error {
				w := new(work)
				r.Data = w
				return w.prepare(r)
			},
			IncomingRequest: func(r *scoll.Request) error {
				// The work is done here. IncomingRequest is not called on servers that have
				// run an earlier attempt of a broadcast to the live members: see Repeated.
				r.Data.(*work).step(r)
				return nil
			},
			PostReply: func(r *scoll.Request) {
				r.Data.(*work).step(r)
				if r.Root() {
					fmt.Println("missing:", len(r.Unreached()))
				}
			},
		})
		if err != nil {
			panic(err)
		}
	}
	servers.on(0, func(s *server) {
		s.agent.CreateGroup(scoll.GroupConfig{
			Service: service, Members: servers.members,
			Done: func(g *scoll.Group, err error) {
				if err != nil {
					panic(err)
				}
				r, err := g.NewRequest(scoll.RequestConfig{Last: true})
				if err == nil {
					w := new(work)
					r.Data = w
					err = w.prepare(r)
				}
				if err == nil {
					err = r.Send()
				}
				if err != nil {
					panic(err)
				}
			},
		})
	})
	// Output: missing: 0
}

package scoll_test

import (
	"encoding/binary"
	"fmt"
	"sync"

	"ulnet/scoll"
)

const spaceService scoll.ServiceID = 100 // all servers agree on it

// space adds up how many bytes are free on all servers.
type space struct {
	free func() uint64 // returns the free bytes of this server; does not block
	done func(servers, bytes uint64, missing []scoll.Unreached)
}

// sum is what this server, and those below it in the tree, have free.
type sum struct {
	sync.Mutex
	servers, bytes uint64
}

func (s *space) service() scoll.Service {
	return scoll.Service{
		ID:              spaceService,
		PreRequest:      prepare,                                           // called when a request arrives
		IncomingRequest: func(*scoll.Request) error { return nil },         // nil: this server runs the request
		Inline:          true,                                              // IncomingRequest does not block
		IncomingReply:   func(p *scoll.Reply) { dataOf(p.Request).add(p) }, // called when a child answers
		PostReply:       s.finish,                                          // called when all children have answered
	}
}

func dataOf(r *scoll.Request) *sum { return r.Data.(*sum) }

// prepare posts a buffer for the answer of each child.
func prepare(r *scoll.Request) error {
	r.Data = new(sum)
	for child := range r.Children() {
		if err := r.PostReply(child, make([]byte, 16)); err != nil {
			return err
		}
	}
	return nil
}

func (s *sum) add(p *scoll.Reply) {
	s.Lock() // children answer at the same time
	defer s.Unlock()
	if p.Status == scoll.OK && len(p.Payload) == 16 { // the module reports missing servers to the root
		s.servers += binary.LittleEndian.Uint64(p.Payload)
		s.bytes += binary.LittleEndian.Uint64(p.Payload[8:])
	}
}

func (s *space) finish(r *scoll.Request) {
	all := dataOf(r)
	all.servers, all.bytes = all.servers+1, all.bytes+s.free()
	if r.Root() {
		s.done(all.servers, all.bytes, r.Unreached())
	} else {
		_ = r.Reply(scoll.Numbers(all.servers, all.bytes)) // an error means that the answer came too late
	}
}

// ask asks all servers, from one of them.
func ask(g *scoll.Group) error {
	r, err := g.NewRequest(scoll.RequestConfig{Payload: []byte("free?")})
	if err == nil {
		err = prepare(r)
	}
	if err == nil {
		err = r.Send()
	}
	return err
}

// Eight servers have 1 to 8 GB free; one does not answer.
func Example_callbacks() {
	servers := newServers(8) // each an LNet node with an agent
	for i, s := range servers.list {
		service := space{
			free: func() uint64 { return uint64(i+1) * 1e9 },
			done: func(n, bytes uint64, missing []scoll.Unreached) {
				fmt.Printf("%d GB free on %d servers\n", bytes/1e9, n)
				for _, u := range missing {
					fmt.Printf("%v: %v\n", u.NID, u.Status)
				}
			},
		}
		if err := s.agent.RegisterService(service.service()); err != nil {
			panic(err)
		}
	}
	servers.stop(5)
	servers.on(0, func(s *server) {
		s.agent.CreateGroup(scoll.GroupConfig{
			Service: spaceService, Name: "servers", Members: servers.members,
			Done: func(g *scoll.Group, err error) {
				if err == nil {
					err = ask(g)
				}
				if err != nil {
					panic(err)
				}
			},
		})
	})
	// Output:
	// 30 GB free on 7 servers
	// 10.0.0.6@tcp: timed out
}

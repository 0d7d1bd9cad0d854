package engine_test

import (
	"fmt"
	"time"

	"ulnet/health/engine"
	"ulnet/health/wire"
	"ulnet/lnet/nid"
)

// A server and a client on a network without delay, in virtual time. The client finds its
// master, and dies; the master evicts it.
func Example() {
	servers := []nid.NID{nid.MustParse("10.0.0.1@tcp")}
	host := nid.ProcessID{NID: nid.MustParse("10.1.0.1@tcp"), PID: nid.LustrePID}
	server, err := engine.NewServer(engine.ServerConfig{Self: servers[0], Incarnation: 1, Servers: servers})
	if err != nil {
		panic(err)
	}
	client, err := engine.NewClient(engine.ClientConfig{ID: wire.ClientIDOf("compute-17"), Incarnation: 1, Servers: servers})
	if err != nil {
		panic(err)
	}
	var now, wake time.Duration
	var tellServer func(in engine.ServerInput)
	tellClient := func(in engine.ClientInput) {
		var out engine.ClientOutput
		client.Step(now, in, &out)
		for i := range out.Effects {
			switch e := &out.Effects[i]; e.Kind {
			case engine.SendTo:
				tellServer(engine.ServerInput{Kind: engine.Arrived, From: host, Data: out.Data(e)})
			case engine.Tell:
				fmt.Println("client:", e.Event.Kind, e.Event.Server)
			}
		}
	}
	tellServer = func(in engine.ServerInput) {
		var out engine.ServerOutput
		wake = server.Step(now, in, &out)
		for i := range out.Effects {
			switch e := &out.Effects[i]; e.Kind {
			case engine.DoSend:
				if now < time.Second { // the client sends pings for a second, then it is dead
					tellClient(engine.ClientInput{Kind: engine.ClientArrived, From: nid.ProcessID{NID: servers[0], PID: nid.LustrePID}, Data: out.Data(e)})
				}
			case engine.DoSave: // the write of the record is durable at once
				tellServer(engine.ServerInput{Kind: engine.Saved, ID: e.ID})
			case engine.DoBroadcast: // there is no other server
				tellServer(engine.ServerInput{Kind: engine.BroadcastDone, ID: e.ID, Data: (&wire.Reply{}).AppendTo(nil)})
			case engine.DoLook: // the client's node sends no other messages
				tellServer(engine.ServerInput{Kind: engine.Seen, Client: e.Client, Failed: true})
			case engine.DoTell:
				fmt.Println("server:", e.Event.Kind, "after", now)
			}
		}
	}
	tellServer(engine.ServerInput{Kind: engine.QuorumIs, Alive: true})
	tellClient(engine.ClientInput{Kind: engine.ClientStart})
	for now < time.Minute {
		now = max(wake, now+1)
		tellServer(engine.ServerInput{})
	}
	// Output:
	// server: quorum-won after 0s
	// server: connected after 0s
	// client: attached 10.0.0.1@tcp
	// client: master-chosen 10.0.0.1@tcp
	// server: suspended after 18s
	// server: evicted after 18s
}

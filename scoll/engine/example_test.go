package engine_test

import (
	"fmt"

	"ulnet/lnet/nid"
	"ulnet/scoll/engine"
	"ulnet/scoll/wire"
)

// Two machines on a network without delay: the first asks both. The example takes the part of
// the service. Messages arrive at once, and callbacks return at once.
func Example() {
	nodes := []nid.NID{nid.MustParse("10.0.0.1@tcp"), nid.MustParse("10.0.0.2@tcp")}
	members, err := wire.NewMembership([]wire.Target{
		{NID: nodes[0], Entities: make([]wire.Entity, 1)}, {NID: nodes[1], Entities: make([]wire.Entity, 1)},
	})
	if err != nil {
		panic(err)
	}
	var machines [2]*engine.Machine
	var step func(i int, in engine.Input)
	step = func(i int, in engine.Input) {
		var out engine.Output
		machines[i].Step(0, in, &out)
		for k := range out.Effects {
			e := &out.Effects[k]
			data := out.Buf[e.Data.Begin:e.Data.End]
			switch e.Kind {
			case engine.DoSend:
				step(members.Rank(e.To), engine.Input{Kind: engine.Arrival, From: nodes[i], Data: data})
				step(i, engine.Input{Kind: engine.InSent, ID: e.ID, Child: e.Child})
			case engine.DoReply:
				payload := []byte("fine")
				step(members.Rank(e.To), engine.Input{
					Kind: engine.Return, From: nodes[i], Bits: e.Bits, Data: data, Payload: payload, Length: len(data) + len(payload),
				})
				step(i, engine.Input{Kind: engine.InSent, ID: e.ID, Child: engine.Upward, Part: e.Part})
			case engine.CallMap:
				step(i, engine.Input{Kind: engine.InMapped, ID: e.ID, Members: members})
			case engine.CallPreRequest:
				step(i, engine.Input{Kind: engine.InPreRequest, ID: e.ID})
			case engine.CallIncoming:
				fmt.Println(nodes[i], "runs the request")
				step(i, engine.Input{Kind: engine.InIncoming, ID: e.ID})
			case engine.CallReply:
				fmt.Println(nodes[i], "has a reply of", members.NID(e.Rank))
				step(i, engine.Input{Kind: engine.InReply, ID: e.ID, Child: e.Child})
			case engine.CallPostReply:
				step(i, engine.Input{Kind: engine.Answer, ID: e.ID, Size: 4, Final: true})
				step(i, engine.Input{Kind: engine.InPostReply, ID: e.ID})
			case engine.CallReplyOut:
				step(i, engine.Input{Kind: engine.InReplyOut, ID: e.ID})
			}
		}
	}
	for i := range machines {
		machines[i] = engine.New(engine.Config{Self: nodes[i], Incarnation: 1})
		step(i, engine.Input{Kind: engine.Register, Service: 7, OOB: true})
	}
	step(0, engine.Input{Kind: engine.Broadcast, Broadcast: &engine.Outgoing{
		Group: wire.GroupID{Index: 1}, Service: 7, Members: members, Flags: wire.FlagOOB, Payload: []byte("how are you?"),
	}})
	fmt.Println("requests that arrived:", machines[1].Stats().Requests)
	// Output:
	// 10.0.0.2@tcp runs the request
	// 10.0.0.1@tcp has a reply of 10.0.0.2@tcp
	// 10.0.0.1@tcp runs the request
	// requests that arrived: 1
}

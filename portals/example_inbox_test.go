package portals_test

import (
	"context"
	"fmt"
	stdlog "log"

	"ulnet/lnet/nid"
	"ulnet/portals"
	"ulnet/portals/node"
)

// An outbox sends to an inbox. The handler of the inbox hands messages to another goroutine,
// which gives their buffers back when it has read them.
func ExampleOutbox() {
	n, err := node.Start(node.Config{Networks: "lo"})
	if err != nil {
		stdlog.Fatal(err)
	}
	defer func() { _ = n.Close(context.Background()) }()

	type message struct {
		data []byte
		kept portals.Kept
	}
	messages := make(chan message, 2)
	var inbox portals.Inbox
	err = inbox.Open(n.Table(), portals.InboxConfig{Portal: 7, Ack: true, Handle: func(e *portals.Event, data []byte) {
		messages <- message{data, inbox.Keep(e)}
	}})
	if err != nil {
		stdlog.Fatal(err)
	}
	defer inbox.Close()

	var outbox portals.Outbox[string]
	outbox.Open(n.Table(), portals.OutboxConfig[string]{
		PeerMessages: 100,
		Done:         func(note string, err error) { fmt.Println(note, "is acknowledged:", err) },
	})
	for i, text := range []string{"hello", "good bye"} {
		m := outbox.New()
		m.Data, m.Note = append(m.Data, text...), fmt.Sprint("message ", i)
		outbox.Put(m, portals.PutRequest{Ack: true, Target: nid.ProcessID{NID: nid.Lo0(), PID: nid.LustrePID}, Portal: 7})
	}
	for range 2 {
		m := <-messages
		fmt.Printf("%s\n", m.data)
		m.kept.Release()
	}
	// Output:
	// message 0 is acknowledged: <nil>
	// message 1 is acknowledged: <nil>
	// hello
	// good bye
}

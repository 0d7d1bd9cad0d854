package main

import (
	"ulnet/lnet/selftest/console"
	"ulnet/lnet/selftest/wire"
)

// batchesDoc is a list of batches in JSON.
type batchesDoc struct {
	Batches []batchDoc `json:"batches"`
}

// batchDoc is a batch in JSON.
type batchDoc struct {
	Name         string         `json:"name"`
	Running      bool           `json:"running"`
	ClientCounts console.Counts `json:"client_counts"`
	ServerCounts console.Counts `json:"server_counts"`
	Clients      []nodeDoc      `json:"clients,omitempty"`
	Servers      []nodeDoc      `json:"servers,omitempty"`
	Tests        []testDoc      `json:"tests,omitempty"`
}

// testDoc is a test in JSON.
type testDoc struct {
	Number       int            `json:"number"` // number of the test in its batch, from 1 on
	Test         string         `json:"test"`   // ping or brw
	From         string         `json:"from"`   // group of the clients
	To           string         `json:"to"`     // group of the servers
	Loop         int32          `json:"loop"`   // how many RPCs each unit sends; -1: without end
	Concurrency  int            `json:"concurrency"`
	Distribute   int            `json:"distribute"`
	Span         int            `json:"span"`
	BRW          *brwDoc        `json:"brw,omitempty"`
	ClientCounts console.Counts `json:"client_counts"`
	ServerCounts console.Counts `json:"server_counts"`
}

// brwDoc has the parameters of a brw test in JSON.
type brwDoc struct {
	Op     string `json:"op"` // read or write
	Check  string `json:"check"`
	Size   uint32 `json:"size"` // size of the data of an RPC, in bytes
	Offset uint32 `json:"off"`  // offset of the data in the first page, in bytes
}

func newBatchDoc(b *console.Batch) batchDoc {
	d := batchDoc{
		Name: b.Name, Running: b.Running, ClientCounts: b.ClientCounts, ServerCounts: b.ServerCounts,
		Clients: nodeDocs(b.Clients), Servers: nodeDocs(b.Servers),
	}
	for i, t := range b.Tests {
		one := testDoc{
			Number: i + 1, Test: testName(t.Service), From: t.From, To: t.To, Loop: t.Loop, Concurrency: t.Concurrency,
			Distribute: t.Distribute, Span: t.Span, ClientCounts: t.ClientCounts, ServerCounts: t.ServerCounts,
		}
		if t.Service == wire.BRWService {
			one.BRW = &brwDoc{t.BRW.Op.String(), t.BRW.Check.String(), t.BRW.Length, t.BRW.Offset}
		}
		d.Tests = append(d.Tests, one)
	}
	return d
}

package boltstore_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"ulnet/health"
	"ulnet/health/boltstore"
	"ulnet/lnet/nid"
)

// A server keeps a client over a restart. Its main calls Child before anything else.
func Example() {
	if code, asked := boltstore.Child(os.Args[1:], os.Stdout); asked {
		os.Exit(code)
	}
	folder, err := os.MkdirTemp("", "boltstore")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "clients.db")

	store, err := boltstore.Open(boltstore.Config{Path: path}) // for health.AgentConfig.Store
	if err != nil {
		log.Fatal(err)
	}
	saved := make(chan error, 1)
	store.Save(health.Record{
		Client: health.ClientIDOf("compute-17"), Incarnation: 7, Epoch: 1, Name: "compute-17", Master: nid.MustParse("10.0.0.1@tcp"),
		Peer: nid.ProcessID{NID: nid.MustParse("10.0.0.17@tcp"), PID: nid.LustrePID},
	}, func(err error) { saved <- err })
	fmt.Println(<-saved, store.Close())

	again, err := boltstore.Open(boltstore.Config{Path: path})
	if err != nil {
		log.Fatal(err)
	}
	records, tombstones, err := again.Load()
	fmt.Println(records[0].Name, records[0].Incarnation, len(records), len(tombstones), err)
	fmt.Println(again.Close())
	// Output:
	// <nil> <nil>
	// compute-17 7 1 0 <nil>
	// <nil>
}

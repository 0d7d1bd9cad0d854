package health_test

import (
	"context"
	"fmt"
	"log"

	"ulnet/health"
	"ulnet/lnet/nid"
	"ulnet/portals"
)

// A program becomes a client of a cluster: it finds a master, and stays
// connected until it closes the connection.
func ExampleDial() {
	var table *portals.Table // of the program's node
	servers := []nid.NID{nid.MustParse("10.0.0.1@tcp"), nid.MustParse("10.0.0.2@tcp"), nid.MustParse("10.0.0.3@tcp")}

	c, err := health.Dial(table, health.DialConfig{
		ClientConfig: health.ClientConfig{Name: "compute-17", Servers: servers},
		Attach:       servers,
		Notify:       func(e health.ClientEvent) { log.Println(e.Kind, e.Server, e.Code) },
	})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	master, err := c.Wait(context.Background())
	fmt.Println(master, err)
}

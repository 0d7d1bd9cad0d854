//go:build !race

package socklnd

func raceRead() {}

func raceWrite() {}

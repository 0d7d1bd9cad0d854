//go:build !race

package socklnd

const raceEnabled = false

func raceRead() {}

func raceWrite() {}

//go:build !race

package softroce

const raceEnabled = false

func raceSend()    {}
func raceReceive() {}

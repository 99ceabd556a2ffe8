package machine_test

// deviation is what a tool does on purpose that the recorded one didn't.
type deviation struct {
	outcome
	why string
}

// Why tools answer otherwise than the recorded ones did.
const (
	noEmptySettings = "A databag has no empty values: one that is set to nothing is deleted, as with the original's databags; the recording's stand-in had one"
	unitsInGoals    = "The units of the related application are goals too, as the contract says; the recording's stand-in had none"
	nobodysLabel    = "A label that nobody has given finds no secret; the recording's stand-in knew every label"
	nextRotation    = "A secret that is to be rotated has a time for that; the recording's stand-in had none"
	manualCloud     = "The machines here are those of the manual cloud, to which there is no credential"
	portIsClosed    = "`close-port 80`, which ran before, has closed it; the recording's stand-in didn't"
)

func printed(stdout string) outcome { return outcome{stdout: stdout} }

// deviations are where a tool answers otherwise than the recorded one on
// purpose, by the recordings' numbers.
func deviations() map[int]deviation {
	return map[int]deviation{
		89: {printed("host: 10.0.0.1\nhtml: <a&b>\nmulti: |\n  a\n  b\nport: \"5432\"\n\"yes\": \"yes\"\n"), noEmptySettings},
		90: {printed(`{"host":"10.0.0.1","html":"\u003ca\u0026b\u003e","multi":"a\nb\n","port":"5432","yes":"yes"}` + "\n"), noEmptySettings},
		99: {printed(""), noEmptySettings},
		194: {printed("units:\n  app/0:\n    status: active\n    since: 2024-05-06 07:08:09Z\n" +
			"relations:\n  db:\n    pg:\n      status: joined\n      since: 2024-05-06 07:08:09Z\n" +
			"    pg/0:\n      status: unknown\n      since: 2024-05-06 07:08:09Z\n" +
			"    pg/1:\n      status: unknown\n      since: 2024-05-06 07:08:09Z\n"), unitsInGoals},
		259: {outcome{code: 1, stderr: "ERROR consumer label \"x\" not found\n"}, nobodysLabel},
		266: {printed(`{"9m4e2mr0ui3e8a215n4g":{"revision":2,"label":"lbl","owner":"application","rotation":"daily",` +
			`"rotates":"2024-05-07T07:08:09Z"}}` + "\n"), nextRotation},
		324: {printed("type: manual\nname: local\nregion: host\nendpoint: \"\"\nidentityendpoint: \"\"\nstorageendpoint: \"\"\n" +
			"credential: null\ncacertificates: []\nskiptlsverify: false\niscontrollercloud: false\n"), manualCloud},
		325: {printed(`{"type":"manual","name":"local","region":"host"}` + "\n"), manualCloud},
		365: {printed("icmp\n0/tcp\n443/tcp\n8000-8100/tcp\n53/udp\n"), portIsClosed},
	}
}

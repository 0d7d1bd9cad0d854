package dissection

// captures is the folder of the captures that the scripts of lnetdump print.
const captures = "../../lnetdump/testdata/captures"

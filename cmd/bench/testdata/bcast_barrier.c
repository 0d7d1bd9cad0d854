/* What G-SC-2 is compared with: rank 0 broadcasts, and a barrier says that all
 * have it. Rank 0 prints how long each took, in nanoseconds, a line each.
 * Arguments: bytes, repetitions that do not count, repetitions. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	if (argc != 4)
		MPI_Abort(MPI_COMM_WORLD, 2);
	int bytes = atoi(argv[1]), warm = atoi(argv[2]), count = atoi(argv[3]), rank;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	char *buf = calloc(1, bytes);
	double *took = calloc(count, sizeof *took);
	if (!buf || !took)
		MPI_Abort(MPI_COMM_WORLD, 1);
	MPI_Barrier(MPI_COMM_WORLD);
	for (int i = -warm; i < count; i++) {
		double began = MPI_Wtime();
		MPI_Bcast(buf, bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
		MPI_Barrier(MPI_COMM_WORLD);
		if (i >= 0)
			took[i] = MPI_Wtime() - began;
	}
	if (rank == 0)
		for (int i = 0; i < count; i++)
			printf("%.0f\n", took[i] * 1e9);
	MPI_Finalize();
	return 0;
}

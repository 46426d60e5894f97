/** Memory and cores: what hosts have, and what services require and reserve. Pure. */

export interface Resources {
  memoryBytes: number;
  cores: number;
}

/** What a service requires of its host. */
export interface Requirement extends Resources {
  labels: readonly string[];
}

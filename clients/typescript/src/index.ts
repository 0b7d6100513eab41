/** A typed client of a shopwindow service: configuration, any read, bags, and the mobile log. */

export { Client, type ClientOptions } from "./client.js";
export { Bags, type Bag, type BagItem } from "./bags.js";
export { Configuration, memory, type Copies } from "./configuration.js";
export { Logger, type Level, type Phone } from "./log.js";
export { Refused, Unreachable } from "./refusals.js";
